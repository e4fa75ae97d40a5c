// An app with every lib, on the client that the arguments name. Uses each lib once and closes. Prints what then keeps the process from ending.
import { setTimeout as sleep } from 'node:timers/promises';
import type { INestApplicationContext, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import type * as Ioredis from 'ioredis';
import { DelayedTaskModule, DelayedTaskService } from 'luanest/delayed-task';
import { LockModule, LockService } from 'luanest/lock';
import { OnceModule, OnceService } from 'luanest/once';
import { RateLimitModule, RateLimitService } from 'luanest/rate-limit';
import { ReadRewardModule, ReadRewardService } from 'luanest/read-reward';
import { RedPacketModule, RedPacketPayouts, RedPacketService } from 'luanest/red-packet';
import { ScheduledLockModule } from 'luanest/scheduled-lock';
import { ScriptRegistryModule, type ScriptRegistryModuleOptions } from 'luanest/script-registry';
import { StreamConsumerModule, StreamConsumerService } from 'luanest/stream-consumer';

const [, , , name = '', port = ''] = process.argv;
const url = `redis://127.0.0.1:${port}`;

/** A client of the app, which the app itself ends. */
interface AppClient {
  readonly options: ScriptRegistryModuleOptions;
  end(): unknown;
}

function clientOf(): AppClient {
  if (name === 'connection') return { options: { connection: { port: Number(port) } }, end: () => undefined };
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- the argument names the package
  const loaded = require(name) as typeof Ioredis & { createClient(options: { url: string }): Ioredis.Redis };
  const client = name.startsWith('redis') ? loaded.createClient({ url }) : new loaded.Redis(url);
  client.on('error', (error: Error) => process.stderr.write(`${error.message}\n`));
  const ends = client as unknown as { close(): unknown; quit(): unknown };
  return { options: { client }, end: () => (name.startsWith('redis') ? ends.close() : ends.quit()) };
}

function appOf(options: ScriptRegistryModuleOptions): Type {
  class App {}
  Reflect.defineMetadata(
    'imports',
    [
      ScriptRegistryModule.forRoot({ ...options, preload: 'required' }),
      ScheduleModule.forRoot(),
      DelayedTaskModule.forRoot({}),
      LockModule.forRoot({}),
      OnceModule.forRoot({}),
      RateLimitModule.forRoot({}),
      ReadRewardModule.forRoot({ rules: { article: { limit: 1 } } }),
      RedPacketModule.forRoot({ identity: () => undefined }),
      ScheduledLockModule.forRoot({ namespace: 'app' }),
      StreamConsumerModule.forRoot({}),
    ],
    App,
  );
  return App;
}

async function useAll(app: INestApplicationContext): Promise<void> {
  const locks = app.get(LockService);
  const held = await locks.acquire('a');
  // It waits for a message, so the subscriber connects.
  const waits = locks.acquire('a', { waitMs: 10_000 });
  await sleep(50);
  await held.release();
  await (await waits).release();
  await app.get(OnceService).run('a', {}, () => 1);
  await app.get(RateLimitService).consume({ name: 'a', limit: 1, windowMs: 60_000 }, 's');
  await app.get(ReadRewardService).record({ rule: 'article', userId: 'u', itemId: 'i' });
  const packets = app.get(RedPacketService);
  await packets.create({ activityId: 'a', totalCents: 10, packets: 2 });
  await packets.grab('a', 'u');
  const paid = new Promise<void>((resolve) => void app.get(RedPacketPayouts).run(() => resolve()));
  const tasks = app.get(DelayedTaskService);
  const ran = new Promise<void>((resolve) => tasks.handle('a', () => resolve()));
  await tasks.schedule('a', null);
  const streams = app.get(StreamConsumerService);
  const heard = new Promise<void>((resolve) => {
    void streams.handle({ stream: 's', group: 'g' }, () => resolve());
  });
  await streams.publish('s', null);
  await Promise.all([paid, ran, heard]);
}

async function main(): Promise<void> {
  const client = clientOf();
  const app = await NestFactory.createApplicationContext(appOf(client.options), { logger: ['error', 'warn'] });
  await useAll(app);
  await app.close();
  await client.end();
  // What a socket still has to do takes a moment, on a busy machine a long one. Timers of the libs are longer than two seconds.
  const open = (): string[] => process.getActiveResourcesInfo().filter((kind) => !/pipe|TTY|File/i.test(kind));
  for (let look = 0; look < 20 && open().length > 0; look++) await sleep(100);
  process.stdout.write(JSON.stringify(open()));
}

void main();
