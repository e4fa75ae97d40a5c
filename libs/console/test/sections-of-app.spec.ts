import { Module, type INestApplication, type Type } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { ConsoleModule } from 'luanest/console';
import { DelayedTaskModule, DelayedTaskService } from 'luanest/delayed-task';
import { LockModule, LockService } from 'luanest/lock';
import { OnceModule, OnceService } from 'luanest/once';
import { OutboxModule, OutboxService } from 'luanest/outbox';
import { RateLimitModule, RateLimitService } from 'luanest/rate-limit';
import { ReadRewardModule, ReadRewardService } from 'luanest/read-reward';
import { RedPacketModule, RedPacketPayouts, RedPacketService } from 'luanest/red-packet';
import { ScheduledLockModule, ScheduledLockService } from 'luanest/scheduled-lock';
import { ScriptRegistry, ScriptRegistryModule } from 'luanest/script-registry';
import { StreamConsumerModule, StreamConsumerService } from 'luanest/stream-consumer';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { RateLimitEnforcer } from '../../rate-limit/src/rate-limit.guard';
import { standaloneClient } from '../../script-registry/test/support';

const FOUND: Type[] = [
  ...[ScriptRegistry, DelayedTaskService, StreamConsumerService, OnceService, LockService, ScheduledLockService],
  ...[RateLimitService, RateLimitEnforcer, ReadRewardService, RedPacketService, RedPacketPayouts, OutboxService],
] as Type[];

const client = standaloneClient();
const names = FOUND.map(({ name }) => name);
let app: INestApplication | undefined;

afterEach(async () => {
  await app?.close();
  FOUND.forEach((one, i) => Object.defineProperty(one, 'name', { value: names[i], configurable: true }));
});
afterAll(() => client.disconnect());

/** Boots an app with all modules, and returns the names of the sections that its page gets. */
async function sectionsOf(providers: Type[] = []): Promise<string[]> {
  const database = { transaction: () => Promise.reject(new Error('This app has no database.')) };
  class App {}
  Module({
    providers,
    imports: [
      ScriptRegistryModule.forRoot({ client, prefix: uniquePrefix() }),
      ScheduleModule.forRoot(),
      DelayedTaskModule.forRoot({ work: false }),
      StreamConsumerModule.forRoot(),
      OnceModule.forRoot(),
      LockModule.forRoot(),
      ScheduledLockModule.forRoot({ namespace: 'shop' }),
      RateLimitModule.forRoot(),
      ReadRewardModule.forRoot({ rules: { articles: { limit: 1, pointsPerItem: 1, timeZone: 'UTC' } } }),
      RedPacketModule.forRoot({ identity: () => 'ann' }),
      OutboxModule.forRoot({ database, relay: false }),
      ConsoleModule.forRoot(),
    ],
  })(App);
  app = (await Test.createTestingModule({ imports: [App] }).compile()).createNestApplication({ logger: false });
  await app.listen(0, '127.0.0.1');
  const reply = await fetch(`${await app.getUrl()}/console/api/me`);
  const { sections } = (await reply.json()) as { sections: { name: string }[] };
  return sections.map(({ name }) => name);
}

const ALL = ['overview', 'queues', 'streams', 'once', 'locks', 'jobs', 'limits', 'rewards', 'red-packets', 'outbox'];

it('has a section for each module, also if a bundler has shortened the names of all classes', async () => {
  FOUND.forEach((one, i) => Object.defineProperty(one, 'name', { value: `a${i}`, configurable: true }));
  expect(await sectionsOf()).toEqual(ALL);
});

it('does not take a class of the app for a service of the same name', async () => {
  const own = names.map((name) => ({ [name]: class {} })[name] as Type);
  expect(own.map(({ name }) => name)).toEqual(names);
  expect(await sectionsOf(own)).toEqual(ALL);
});
