import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { RedisModule } from '@liaoliaots/nestjs-redis';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import { DelayedTaskModule } from 'luanest/delayed-task';
import { LockModule, LockService } from 'luanest/lock';
import { OnceModule } from 'luanest/once';
import { RateLimitModule } from 'luanest/rate-limit';
import { ReadRewardModule } from 'luanest/read-reward';
import { ScheduledLockModule } from 'luanest/scheduled-lock';
import {
  getScriptRegistryToken,
  ScriptRegistry,
  ScriptRegistryHealthIndicator,
  ScriptRegistryModule,
  type ScriptRegistryModuleOptions,
} from 'luanest/script-registry';
import { StreamConsumerModule, StreamConsumerService } from 'luanest/stream-consumer';
import { LuanestTesting, LuanestTestingModule, TestClock } from 'luanest/testing';
import { eventually } from '../../../test/support/wait';

/** A port on which nothing listens. */
const NOBODY = { host: '127.0.0.1', port: 1 };

@Injectable()
class Orders {
  constructor(private readonly locks: LockService) {}

  ship(id: string): Promise<string> {
    return this.locks.withLock(`order:${id}`, {}, (lock) => (lock.held ? `shipped ${id}` : 'not held'));
  }
}

describe('forRoot', () => {
  it('gives the libs an in-memory Redis', async () => {
    const app = await Test.createTestingModule({
      imports: [LuanestTestingModule.forRoot(), LockModule.forRoot()],
      providers: [Orders],
    }).compile();
    await app.init();
    await expect(app.get(Orders).ship('7')).resolves.toBe('shipped 7');
    const { clock, redis } = app.get(LuanestTesting);
    expect(clock.nowMs).toBe(Date.UTC(2026, 0, 1));
    const client = redis.client();
    await expect(client.keys('*')).resolves.toEqual(['luanest:lock:{order:7}:lock']);
    client.disconnect();
    await app.close();
    expect(TestClock.installed).toBeUndefined();
  });

  it('gives each named ScriptRegistry a Redis of its own', async () => {
    const app = await Test.createTestingModule({
      imports: [LuanestTestingModule.forRoot({ registries: ['second'] }), LockModule.forRoot({ registry: 'second' })],
    }).compile();
    await app.init();
    await (await app.get(LockService).acquire('a')).release();
    const testing = app.get(LuanestTesting);
    expect(testing.redis.server.db.keys()).toEqual([]);
    expect(testing.redisOf('second').server.db.keys()).toEqual(['luanest:lock:{a}:lock']);
    expect(app.get<ScriptRegistry>(getScriptRegistryToken('second')).name).toBe('second');
    await app.close();
  });

  it('refuses invalid options', () => {
    expect(() => LuanestTestingModule.forRoot({ registries: [''] })).toThrow(
      'LuanestTestingModule: registries is "". Expected a name of at least 1 character.',
    );
    expect(() => LuanestTestingModule.forRoot({ port: 1 } as object)).toThrow(
      'LuanestTestingModule: There is no option "port". Known: redis, registries.',
    );
  });
});

describe('forApp', () => {
  const users: Redis[] = [];
  const moduleWith = (registry: object, imports: object[] = []) => {
    @Module({ imports: [...imports, registry, LockModule.forRoot()] as never[], providers: [Orders] })
    class AppModule {}
    return AppModule;
  };
  const registryOf = (options: ScriptRegistryModuleOptions) => ScriptRegistryModule.forRoot(options);
  const clientOfApp = (client: Redis) => {
    users.push(client);
    return client;
  };
  afterEach(() => users.splice(0).forEach((client) => client.disconnect()));

  it.each([
    ['url', () => moduleWith(registryOf({ url: 'redis://:secret@127.0.0.1:1/3', prefix: 'shop' }))],
    ['connection', () => moduleWith(registryOf({ connection: NOBODY, prefix: 'shop' }))],
    ['connection of a Cluster', () => moduleWith(registryOf({ connection: { nodes: [NOBODY] }, prefix: 'shop' }))],
    ['client', () => moduleWith(registryOf({ client: clientOfApp(new Redis(NOBODY)), prefix: 'shop' }))],
    [
      'lazy client with a database',
      () =>
        moduleWith(
          registryOf({ client: clientOfApp(new Redis({ ...NOBODY, db: 2, lazyConnect: true })), prefix: 'shop' }),
        ),
    ],
    [
      'client of ioredis 5',
      () => moduleWith(registryOf({ client: clientOfApp(new Redis5(NOBODY) as never), prefix: 'shop' })),
    ],
    [
      'source',
      () =>
        moduleWith(registryOf({ prefix: 'shop' }), [
          RedisModule.forRoot({ config: { ...NOBODY, password: 'secret' } }),
        ]),
    ],
    ['no Redis at all', () => moduleWith(registryOf({ prefix: 'shop' }))],
  ])('connects an app with %s to an in-memory Redis', async (_what, makeModule) => {
    const app = await Test.createTestingModule({ imports: [LuanestTestingModule.forApp(makeModule())] }).compile();
    await app.init();
    await expect(app.get(Orders, { strict: false }).ship('7')).resolves.toBe('shipped 7');
    const { redis } = app.get(LuanestTesting);
    // The options of the app hold, but for its Redis.
    expect(redis.server.db.keys()).toEqual(['shop:lock:{order:7}:lock']);
    await expect(app.get(ScriptRegistryHealthIndicator).check('scripts')).resolves.toEqual({
      scripts: { status: 'up' },
    });
    await app.close();
  });

  it('moves the client that the app uses itself', async () => {
    const client = clientOfApp(new Redis(NOBODY));
    const app = await Test.createTestingModule({
      imports: [LuanestTestingModule.forApp(moduleWith(registryOf({ client })))],
    }).compile();
    await app.init();
    await client.set('own', '1');
    expect(app.get(LuanestTesting).redis.server.db.readString('own')).toBe('1');
    await app.close();
  });

  it('works with NestFactory', async () => {
    const app = await NestFactory.createApplicationContext(
      LuanestTestingModule.forApp(moduleWith(registryOf({ url: 'redis://127.0.0.1:1' }))),
      { logger: false },
    );
    await expect(app.get(Orders, { strict: false }).ship('7')).resolves.toBe('shipped 7');
    await app.close();
  });
});

describe('close', () => {
  /** Resources that keep the process alive. Immediates end by themselves. */
  const resources = (): string[] => process.getActiveResourcesInfo().filter((kind) => kind !== 'Immediate');
  const everything = [
    RateLimitModule.forRoot({ rules: [{ name: 'all', limit: 5, windowMs: 1_000 }] }),
    OnceModule.forRoot(),
    ReadRewardModule.forRoot({ rules: { article: { limit: 5, timeZone: 'UTC' } } }),
    LockModule.forRoot(),
    ScheduledLockModule.forRoot({ namespace: 'shop' }),
    DelayedTaskModule.forRoot({ work: true, drainMs: 50 }),
    StreamConsumerModule.forRoot(),
  ];

  it.each(['up', 'down'])('leaves no timer and no handle while Redis is %s', async (state) => {
    const before = resources();
    const app = await Test.createTestingModule({ imports: [LuanestTestingModule.forRoot(), ...everything] }).compile();
    await app.init();
    const consumer = await app.get(StreamConsumerService).handle({ stream: 'news', group: 'g' }, () => undefined);
    expect(consumer).toBeDefined();
    await (await app.get(LockService).acquire('a')).release();
    if (state === 'down') {
      const lost = app.get(LockService).acquire('b');
      await new Promise((resolve) => process.nextTick(resolve));
      await app.get(LuanestTesting).faults.redisDown();
      await expect(lost).rejects.toMatchObject({ code: 'UNKNOWN_OUTCOME' });
    }
    await app.close();
    // Timers and sockets of an earlier spec file may begin and end meanwhile.
    const added = (): string[] => {
      const left = [...before];
      return resources().filter((kind) => !left.includes(kind) || !left.splice(left.indexOf(kind), 1));
    };
    await eventually(() => expect(added()).toEqual([]), { timeoutMs: 20_000 });
    expect(app.get(LuanestTesting).redis.server.sessions.size).toBe(0);
  });
});
