import { Module } from '@nestjs/common';
import { RedisModule } from '@liaoliaots/nestjs-redis';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { ConsoleUse } from './uses/console.js';
import { DelayedTaskUse } from './uses/delayed-task.js';
import { LockUse } from './uses/lock.js';
import { OnceUse } from './uses/once.js';
import { OutboxUse } from './uses/outbox.js';
import { RateLimitUse } from './uses/rate-limit.js';
import { ReadRewardUse } from './uses/read-reward.js';
import { RedPacketUse } from './uses/red-packet.js';
import { ScheduledLockUse } from './uses/scheduled-lock.js';
import { ScriptRegistryUse } from './uses/script-registry.js';
import { StreamConsumerUse } from './uses/stream-consumer.js';
import { ThrottlerStorageUse } from './uses/throttler-storage.js';
import { TransportUse } from './uses/transport.js';

@Module({
  imports: [
    RedisModule.forRoot({ config: { url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' } }),
    ScriptRegistryModule.forRoot({ preload: 'required' }),
    ScriptRegistryUse,
    RateLimitUse,
    ThrottlerStorageUse,
    LockUse,
    ScheduledLockUse,
    OnceUse,
    ReadRewardUse,
    DelayedTaskUse,
    StreamConsumerUse,
    OutboxUse,
    TransportUse,
    RedPacketUse,
    ConsoleUse,
  ],
})
export class AppModule {}
