import type { DynamicModule, Type } from '@nestjs/common';
import { Interval, ScheduleModule } from '@nestjs/schedule';
import { Test, type TestingModule } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { ConsoleModule } from 'luanest/console';
import { DelayedTaskModule, DelayedTaskService } from 'luanest/delayed-task';
import { LockModule, LockService } from 'luanest/lock';
import { OnceModule, OnceService } from 'luanest/once';
import { RateLimitModule, RateLimitService } from 'luanest/rate-limit';
import { ReadRewardModule, ReadRewardService } from 'luanest/read-reward';
import { RedPacketModule, RedPacketService } from 'luanest/red-packet';
import { ScheduledLock, ScheduledLockModule, ScheduledLockService } from 'luanest/scheduled-lock';
import { ScriptRegistry, ScriptRegistryModule } from 'luanest/script-registry';
import { StreamConsumerModule, StreamConsumerService } from 'luanest/stream-consumer';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { StreamClient, StreamServer } from 'luanest/transport';
import { lastValueFrom } from 'rxjs';
import { ActionLog } from '../libs/console/src/action-log';
import { ConsoleAccess } from '../libs/console/src/console.access';
import { CONSOLE, idleChecksOf } from '../libs/internal/src';
import { NO_PERMISSION } from './support/client-kind';
import { blocksOf, tableOf, words } from './support/markdown';
import { eventually } from './support/wait';

class Job {
  runs = 0;
  @ScheduledLock({ name: 'job' })
  @Interval(50)
  run(): void {
    this.runs += 1;
  }
}

interface Use {
  readonly modules: readonly (DynamicModule | Type)[];
  readonly providers?: readonly Type[];
  readonly use: (app: TestingModule) => Promise<void>;
}

const DUE = { delayMs: 60_000 };

/** Every lib, and calls that reach as many of its scripts as an app would. */
const libs: Readonly<Record<string, Use>> = {
  'rate-limit': {
    modules: [RateLimitModule.forRoot({ onRedisError: 'deny', deadlineMs: 5_000 })],
    async use(app) {
      const limits = app.get(RateLimitService);
      for (const algorithm of ['fixed-window', 'sliding-window', 'sliding-log', 'token-bucket'] as const) {
        const rule = { name: algorithm, limit: 2, windowMs: 60_000, algorithm, blockMs: 1_000 };
        const decision = await limits.consume(rule, 'user');
        expect(decision).toMatchObject({ allowed: true, source: 'redis' });
        await limits.refund(decision);
        for (let i = 0; i < 4; i++) await limits.consume(rule, 'user');
        await limits.reset(rule, 'user');
        await limits.block(rule, 'user', 1_000);
      }
      const two = ['a', 'b'].map((name) => ({ rule: { name, limit: 9, windowMs: 60_000 }, subject: 'user' }));
      const decision = await limits.consume(two);
      expect(decision).toMatchObject({ source: 'redis' });
      expect(await limits.refund(decision)).toBe(2);
      expect(await limits.consume({ name: 'a', limit: 9, windowMs: 60_000 }, 'user')).toMatchObject({
        source: 'redis',
      });
    },
  },
  once: {
    modules: [OnceModule.forRoot({})],
    async use(app) {
      const once = app.get(OnceService);
      await once.first('a');
      await once.run('b', {}, () => 1);
      const claim = await once.claim('c');
      if (claim.status === 'claimed') await claim.renew().then(() => claim.release());
      expect(await once.peek('b')).toMatchObject({ status: 'done' });
    },
  },
  'read-reward': {
    modules: [
      ReadRewardModule.forRoot({
        rules: { article: { limit: 1, dedupe: 'ever' }, video: { limit: 1 } },
        ledgerRetentionMs: 86_400_000,
      }),
    ],
    async use(app) {
      const rewards = app.get(ReadRewardService);
      for (const rule of ['article', 'video']) {
        const { grantId } = await rewards.record({ rule, userId: 'u', itemId: 'a', operationId: 'o' });
        await rewards.record({ rule, userId: 'u', itemId: 'b' });
        await rewards.record({ rule, userId: 'u', itemId: 'c' });
        expect((await rewards[CONSOLE]().items(rule, 'u', { limit: 9 })).items).toMatchObject([
          { itemId: 'a', grantId },
        ]);
        expect((await rewards.refund(grantId as string)).status).toBe('refunded');
      }
      await rewards.status('u');
    },
  },
  'read-reward, without a ledger': {
    modules: [ReadRewardModule.forRoot({ rules: { article: { limit: 1 } } })],
    async use(app) {
      const rewards = app.get(ReadRewardService);
      for (const itemId of ['a', 'a', 'b']) await rewards.record({ rule: 'article', userId: 'v', itemId });
    },
  },
  lock: {
    modules: [LockModule.forRoot({ leaseMs: 30_000 })],
    async use(app) {
      const locks = app.get(LockService);
      const held = await locks.acquire('a');
      await held.extend();
      const waits = locks.acquire('a', { waitMs: 30_000 });
      await eventually(async () => expect(await app.get(Redis).pubsub('SHARDCHANNELS')).toHaveLength(1));
      await held.release();
      await (await waits).release();
      await locks.acquire('a');
      await locks.status('a');
      expect((await locks[CONSOLE]().look('a')).held).toBe(true);
      await locks.forceUnlock('a');
    },
  },
  'scheduled-lock': {
    modules: [ScheduledLockModule.forRoot({ namespace: 'n' }), ScheduleModule.forRoot()],
    providers: [Job],
    async use(app) {
      await eventually(() => expect(app.get(Job).runs).toBeGreaterThan(1));
      expect((await app.get(ScheduledLockService).history('job')).length).toBeGreaterThan(0);
      expect((await app.get(ScheduledLockService)[CONSOLE]().look('job', 9)).records).not.toEqual([]);
    },
  },
  'delayed-task': {
    modules: [DelayedTaskModule.forRoot({ attempts: 2, backoff: { delayMs: 1 }, work: true, broadcastEvents: true })],
    async use(app) {
      const tasks = app.get(DelayedTaskService);
      const events: unknown[] = [];
      await tasks.onEvents((event) => events.push(event));
      let fails = true;
      tasks.handle('a', () => {
        if (fails) throw new Error('not yet');
        return 1;
      });
      await tasks.schedule('a', {}, { id: 'one', keepResultMs: 60_000 });
      await eventually(async () => expect((await tasks.deadLetters()).items).toHaveLength(1));
      fails = false;
      await tasks.replay(['one']);
      await tasks.replayAll();
      await tasks.dropAll();
      await eventually(async () => expect(await tasks.get('one')).toMatchObject({ state: 'done' }));
      await eventually(() => expect(events).toContainEqual(expect.objectContaining({ id: 'one', status: 'done' })));
      await tasks.scheduleMany([{ name: 'a' }, { name: 'a', ...DUE }, { name: 'a', id: 'two', ...DUE }]);
      await tasks.reschedule('two', { delayMs: 50_000 });
      await tasks.cancel('two');
      await tasks.drop(['none']);
      await tasks.stats();
      await idleChecksOf(app.get(ScriptRegistry)).checkAll();
    },
  },
  'stream-consumer': {
    modules: [StreamConsumerModule.forRoot({ attempts: 2, backoff: { delayMs: 1 } })],
    async use(app) {
      const streams = app.get(StreamConsumerService);
      let fails = true;
      for (const ordered of [true, false]) {
        const group = ordered ? 'ordered' : 'free';
        fails = true;
        const consumer = await streams.handle({ stream: 's', group, ordered }, () => {
          if (fails) throw new Error('not yet');
        });
        await streams.publish('s', 1, { key: 'k', operationId: group });
        await eventually(async () => expect((await streams.stats('s', group)).dead).toBeGreaterThan(0));
        fails = false;
        await streams.replayAll('s', group);
        await eventually(async () => expect(await streams.stats('s', group)).toMatchObject({ dead: 0, pending: 0 }));
        await streams.deadLetters('s', group);
        await streams.dropAll('s', group);
        await idleChecksOf(app.get(ScriptRegistry)).checkAll();
        await consumer.stop();
        await streams.removeGroup('s', group);
      }
    },
  },
  transport: {
    modules: [StreamConsumerModule.forRoot({})],
    async use(app) {
      const streams = app.get(StreamConsumerService);
      const server = new StreamServer({ streams, group: 'g' });
      server.addHandler('double', async (value: number) => Promise.resolve(2 * value));
      server.listen(() => undefined);
      const client = new StreamClient({ streams });
      expect(await lastValueFrom(client.send<number>('double', 2))).toBe(4);
      client.close();
      await server.close();
    },
  },
  console: {
    modules: [ConsoleModule.forRoot()],
    async use(app) {
      const log = app.get(ActionLog);
      const end = await log.begin({ actor: 'ann', section: 's', action: 'a', target: { address: ['s'] } });
      expect(await end({ result: 'done' })).toBe(true);
      expect((await log.list('', 9)).items).toHaveLength(1);
      expect(await app.get(ConsoleAccess).tokenOf({ name: 'ann', role: 'act' })).not.toBe('');
    },
  },
  'red-packet': {
    modules: [RedPacketModule.forRoot({ identity: () => undefined })],
    async use(app) {
      const packets = app.get(RedPacketService);
      await packets.create({ activityId: 'a', totalCents: 40, packets: 4, buckets: 2, maxTries: 2 });
      for (let i = 0; i < 6; i++) await packets.grab('a', `u${i}`);
      await packets.pause('a');
      await packets.resume('a');
      await packets.luckiest('a');
      await packets.records('a');
      expect((await packets.audit('a', { deep: true }))?.ok).toBe(true);
      await packets.close('a');
      await packets.activities();
      expect((await packets[CONSOLE]().page(1, '9:b')).total).toBe(1);
    },
  },
};

const [rule = ''] = blocksOf('docs/production.md', '').filter((block) => block.startsWith('ACL SETUSER'));
const commands = new Map(
  tableOf('docs/production.md', 'lib', 'commands of its scripts').map(([lib, cell]) => [lib, cell]),
);
let server: RedisServer;
let admin: Redis;

beforeAll(async () => {
  server = await startRedis();
  admin = new Redis(server.port, server.host);
});
afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

const libOf = (use: string): string => use.split(',')[0] as string;
/** Commands that a user of the lib needs. */
const commandsOf = (lib: string): string =>
  words([commands.get(lib), lib === 'transport' ? commands.get('stream-consumer') : ''].join(' ')).join(' ');

it('is about every lib of the table', () => {
  expect([...new Set(Object.keys(libs).map(libOf))].sort()).toEqual([...commands.keys()].sort());
});

/** As the document says: Redis 7.0 does not know one of the commands. */
async function setUser(user: string, rules: readonly string[]): Promise<void> {
  const set = (some: readonly string[]): Promise<unknown> => admin.call('ACL', 'SETUSER', user, 'reset', ...some);
  await set(rules).catch(() => set(rules.filter((rule) => rule !== '+client|setinfo')));
}

it.each(Object.entries(libs))('%s needs no more than the document says', async (name, { modules, providers, use }) => {
  const [, , user = '', ...rules] = rule
    .replace('<the commands below>', commandsOf(libOf(name)))
    .trim()
    .split(' ');
  await setUser(user, rules);
  await admin.call('ACL', 'LOG', 'RESET');
  const client = new Redis(server.port, server.host, { username: user, password: 'password' });
  const app = await Test.createTestingModule({
    imports: [ScriptRegistryModule.forRoot({ client, preload: 'required' }), ...modules],
    providers: [...(providers ?? []), { provide: Redis, useValue: admin }],
  }).compile();
  try {
    await app.init();
    await use(app);
    expect(await admin.call('ACL', 'LOG')).toEqual([]);
  } finally {
    await app.close();
    client.disconnect();
  }
});

it('is noticed when a command is missing', async () => {
  const [, , , ...rules] = rule.replace('<the commands below>', '+get').trim().split(' ');
  await setUser('poor', rules);
  await admin.call('ACL', 'LOG', 'RESET');
  const client = new Redis(server.port, server.host, { username: 'poor', password: 'password' });
  const app = await Test.createTestingModule({
    imports: [ScriptRegistryModule.forRoot({ client, preload: 'required' }), OnceModule.forRoot({})],
  }).compile();
  await app.init();
  await expect(app.get(OnceService).first('x')).rejects.toThrow(NO_PERMISSION);
  expect(await admin.call('ACL', 'LOG')).not.toEqual([]);
  await app.close();
  client.disconnect();
});

it.each([
  ['delayed-task', '+spublish'],
  ['delayed-task', '&luanest:*'],
  ['stream-consumer', '+spublish'],
  ['stream-consumer', '&luanest:*'],
])('calls of %s that add something are refused without %s, as the document says', async (lib, left) => {
  const [, , , ...rules] = rule
    .replace('<the commands below>', words(commands.get(lib)).join(' '))
    .trim()
    .split(' ');
  expect(rules).toContain(left);
  await admin.flushall();
  await setUser(
    'mute',
    rules.flatMap((one) => (one === left ? (left.startsWith('&') ? ['resetchannels'] : []) : [one])),
  );
  const client = new Redis(server.port, server.host, { username: 'mute', password: 'password' });
  const app = await Test.createTestingModule({
    imports: [
      ScriptRegistryModule.forRoot({ client, preload: 'required' }),
      DelayedTaskModule.forRoot({ work: false }),
      StreamConsumerModule.forRoot({}),
    ],
  }).compile();
  try {
    await app.init();
    const add = () =>
      lib === 'delayed-task'
        ? app.get(DelayedTaskService).schedule('a')
        : app.get(StreamConsumerService).publish('s', 1);
    await expect(add()).rejects.toThrow('permission for SPUBLISH and for the channels of this lib');
    await expect(add()).rejects.toMatchObject({ code: 'SCRIPT_FAILED' });
    expect((await admin.keys('*')).filter((key) => /:(due|tasks|stream|waits|woken)$/.test(key))).toEqual([]);
  } finally {
    await app.close();
    client.disconnect();
  }
});
