import { Module, type INestApplication } from '@nestjs/common';
import { Redis } from 'ioredis';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { DelayedTaskUse, useDelayedTask } from '../uses/delayed-task.js';
import { LockUse, useLock } from '../uses/lock.js';
import { ReadRewardUse, useReadReward } from '../uses/read-reward.js';
import { RedPacketUse, useRedPacket } from '../uses/red-packet.js';
import { ScheduledLockUse, useScheduledLock } from '../uses/scheduled-lock.js';
import { StreamConsumerUse, useStreamConsumer } from '../uses/stream-consumer.js';

const client = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');

/** Libs that use RateLimitModule and OnceModule if the app has them, here without these two. */
@Module({
  imports: [
    ScriptRegistryModule.forRoot({ client, preload: 'required' }),
    LockUse,
    ScheduledLockUse,
    ReadRewardUse,
    DelayedTaskUse,
    StreamConsumerUse,
    RedPacketUse,
  ],
})
export class LoneModule {}

const uses: Record<string, (app: INestApplication, url: string) => Promise<string>> = {
  lock: useLock,
  'scheduled-lock': useScheduledLock,
  'read-reward': useReadReward,
  'delayed-task': useDelayedTask,
  'stream-consumer': useStreamConsumer,
  'red-packet': useRedPacket,
};

/** Uses each of them once, prints a line for each, and closes the app. */
export async function useLone(app: INestApplication): Promise<void> {
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  for (const [door, use] of Object.entries(uses)) process.stdout.write(`${door}: ${await use(app, url)}\n`);
  await app.close();
  await client.quit();
  process.stdout.write('closed\n');
}
