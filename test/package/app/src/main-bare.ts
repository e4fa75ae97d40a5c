import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { OnceModule, OnceService } from 'luanest/once';
import { RateLimitModule, RateLimitService } from 'luanest/rate-limit';
import { RedPacketModule, RedPacketService } from 'luanest/red-packet';
import { ScheduledLockModule, ScheduledLockService } from 'luanest/scheduled-lock';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { client, close } from './client.js';
import { DelayedTaskUse, useDelayedTask } from './uses/delayed-task.js';
import { LockUse, useLock } from './uses/lock.js';
import { ReadRewardUse, useReadReward } from './uses/read-reward.js';
import { ScriptRegistryUse, useScriptRegistry } from './uses/script-registry.js';
import { StreamConsumerUse, useStreamConsumer } from './uses/stream-consumer.js';

/** All libs, with no package that is an optional peer: a client of the app's own, and no HTTP. */
@Module({
  imports: [
    ScriptRegistryModule.forRoot({ client, preload: 'required' }),
    ScriptRegistryUse,
    LockUse,
    ReadRewardUse,
    DelayedTaskUse,
    StreamConsumerUse,
    OnceModule.forRoot({}),
    RateLimitModule.forRoot({}),
    RedPacketModule.forRoot({ identity: () => undefined }),
    ScheduledLockModule.forRoot({ namespace: 'app' }),
  ],
})
class BareModule {}

async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(BareModule, { logger: ['error'] });
  const packets = app.get(RedPacketService);
  await packets.create({ activityId: 'party', totalCents: 100, packets: 1 });
  const answers = {
    'script-registry': await useScriptRegistry(app),
    lock: await useLock(app),
    'read-reward': await useReadReward(app),
    'delayed-task': await useDelayedTask(app),
    'stream-consumer': await useStreamConsumer(app),
    once: (await app.get(OnceService).claim('message-1')).status,
    'rate-limit': (await app.get(RateLimitService).consume({ name: 'mail', limit: 1, windowMs: 60_000 }, 'ann'))
      .allowed,
    'red-packet': (await packets.grab('party', 'ann')).status,
    'scheduled-lock': app.get(ScheduledLockService).names.length,
  };
  for (const [door, answer] of Object.entries(answers)) process.stdout.write(`${door}: ${answer}\n`);
  await app.close();
  await close();
  process.stdout.write('closed\n');
}

void main();
