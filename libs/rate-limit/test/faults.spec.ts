import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Redis, type RedisOptions } from 'ioredis';
import { RateLimitEvents, type RateLimitModuleOptions } from 'luanest/rate-limit';
import { ScriptRegistryEvents } from 'luanest/script-registry';
import { startFaultProxy, startRedis, type FaultProxy, type RedisServer } from 'luanest/testing/servers';
import { NO_PERMISSION } from '../../../test/support/client-kind';
import { eventually } from '../../../test/support/wait';
import type { LimiterSettings } from '../src/limiter/resilient-limiter';
import { openBench, quiet, type Bench } from './support';

const minute = { windowMs: 60_000 };
const isEvalsha = (request: string): boolean => /evalsha/i.test(request);

describe('when Redis is slow or unavailable', () => {
  let server: RedisServer;
  let proxy: FaultProxy;
  let admin: Redis;
  const closing: (() => void)[] = [];
  const failures: RateLimitEvents['redisFailed'][] = [];
  const states: string[] = [];
  const onFailure = (event: unknown): unknown => failures.push(event as RateLimitEvents['redisFailed']);
  const onBreaker = (event: unknown): unknown => states.push((event as { state: string }).state);

  beforeAll(async () => {
    server = await startRedis();
    proxy = await startFaultProxy(server);
    admin = quiet(new Redis(server.port));
    subscribe(RateLimitEvents.redisFailed, onFailure);
    subscribe(RateLimitEvents.breakerChanged, onBreaker);
  });
  beforeEach(() => {
    proxy.pass();
    failures.length = 0;
    states.length = 0;
  });
  afterEach(() => {
    for (const close of closing.splice(0)) close();
  });
  afterAll(async () => {
    unsubscribe(RateLimitEvents.redisFailed, onFailure);
    unsubscribe(RateLimitEvents.breakerChanged, onBreaker);
    admin.disconnect();
    await proxy.stop();
    await server.stop();
  });

  async function open(
    options: RateLimitModuleOptions = {},
    settings: Partial<LimiterSettings> = {},
    redis: RedisOptions = {},
  ): Promise<Bench> {
    const client = quiet(new Redis(proxy.port, '127.0.0.1', { retryStrategy: () => 20, ...redis }));
    const bench = await openBench(client, options, settings);
    closing.push(() => bench.close());
    return bench;
  }

  it.each(['allow', 'deny', 'local'] as const)(
    'without replies, a check is decided at its deadline: %s',
    async (policy) => {
      const { service } = await open({ deadlineMs: 50, onRedisError: policy }, { failures: 3, openMs: 2_000 });
      const rule = { name: `hole-${policy}`, limit: 2, ...minute };
      await eventually(async () => expect((await service.consume(rule, 'first')).source).toBe('redis'));
      failures.splice(0);
      states.splice(0);
      proxy.blackhole();
      const took: number[] = [];
      let asked = 0;
      const onGroup = (): unknown => (asked += 1);
      subscribe(ScriptRegistryEvents.groupSent, onGroup);
      const decisions = [];
      for (let i = 0; i < 6; i++) {
        const started = performance.now();
        decisions.push(await service.consume(rule, 's'));
        took.push(performance.now() - started);
      }
      const allowed = { allow: [1, 1, 1, 1, 1, 1], deny: [0, 0, 0, 0, 0, 0], local: [1, 1, 0, 0, 0, 0] }[policy];
      expect(decisions.map((decision) => Number(decision.allowed))).toEqual(allowed);
      expect(decisions[0]?.source).toBe(policy === 'local' ? 'local' : 'policy');
      if (policy === 'deny') expect(decisions[0]).toMatchObject({ reason: 'redis-error', rules: [] });
      // Three wait for Redis, then the breaker is open and nobody does.
      expect(Math.min(...took.slice(0, 3))).toBeGreaterThan(40);
      expect(Math.max(...took.slice(0, 3))).toBeLessThan(5_000);
      unsubscribe(ScriptRegistryEvents.groupSent, onGroup);
      expect(asked).toBe(3);
      expect(failures.map((failure) => failure.policy)).toEqual(new Array(6).fill(policy));
      expect(states).toEqual(['opened']);

      proxy.cut();
      proxy.pass();
      await eventually(async () => {
        expect((await service.consume(rule, 't', { cost: 0 })).source).toBe('redis');
      });
      expect(states).toEqual(['opened', 'closed']);
    },
  );

  it("a rule's policy replaces the module's, and the strictest rule of a request decides", async () => {
    const { service } = await open({ deadlineMs: 20, onRedisError: 'allow' }, { failures: 1_000 });
    const rule = { name: 'own', limit: 1, ...minute };
    proxy.blackhole();
    expect(await service.consume({ ...rule, onRedisError: 'deny' }, 's')).toMatchObject({ allowed: false });
    expect(await service.consume(rule, 's')).toMatchObject({ allowed: true, source: 'policy' });
    const mixed = (['allow', 'local', 'deny'] as const).map((onRedisError) => ({
      rule: { ...rule, name: `own-${onRedisError}`, onRedisError },
      subject: 's',
    }));
    expect(await service.consume(mixed)).toMatchObject({ allowed: false, reason: 'redis-error' });
    expect(await service.consume(mixed.slice(0, 2))).toMatchObject({ allowed: true, source: 'local' });
    expect(await service.consume(mixed.slice(0, 2))).toMatchObject({ allowed: false, source: 'local' });
  });

  it('an unavailable server: no check waits longer than the deadline, and nothing is sent later', async () => {
    const { service, client } = await open({ deadlineMs: 30 }, { failures: 1_000 });
    const rule = { name: 'away', limit: 5, ...minute };
    await eventually(async () => expect((await service.consume(rule, 'first')).source).toBe('redis'));
    proxy.cut();
    proxy.refuse();
    await eventually(() => expect(client.status).not.toBe('ready'));
    const decisions = await Promise.all(Array.from({ length: 20 }, () => service.consume(rule, 's')));
    expect(decisions.filter(({ source }) => source !== 'local')).toEqual([]);
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5);
    proxy.pass();
    await eventually(async () => {
      expect((await service.peek(rule, 's')).source).toBe('redis');
    });
    await eventually(async () =>
      expect(await service.peek(rule, 's')).toMatchObject({ source: 'redis', rules: [{ used: 0 }] }),
    );
  });

  it('a resent command charges once more, and only once more', async () => {
    const { service } = await open({ deadlineMs: 10_000 });
    const single = { name: 'resent', limit: 10, ...minute };
    const bucket = { name: 'resent-log', limit: 10, ...minute, algorithm: 'sliding-log' as const };
    const cut = proxy.dropReply({ when: isEvalsha });
    expect(await service.consume(single, 's')).toMatchObject({ allowed: true, rules: [{ used: 2 }] });
    await cut;
    const again = proxy.dropReply({ when: isEvalsha });
    const checks = [single, bucket].map((rule) => ({ rule, subject: 's' }));
    expect(await service.consume(checks)).toMatchObject({ allowed: true, rules: [{ used: 4 }, { used: 2 }] });
    await again;
  });

  it('a refund, a reset and a block whose reply was lost take effect, and resolve after the resend', async () => {
    const { service } = await open({ deadlineMs: 10_000 }, { cachedRefusals: 0 });
    const log = { name: 'lost-log', limit: 3, ...minute, algorithm: 'sliding-log' as const };
    const [first] = [await service.consume(log, 's'), await service.consume(log, 's')];
    let cut = proxy.dropReply({ when: isEvalsha });
    expect(await service.refund(first)).toBe(0);
    await cut;
    expect((await service.peek(log, 's')).rules[0]?.used).toBe(1);
    cut = proxy.dropReply({ when: isEvalsha });
    await service.block(log, 's', 60_000);
    await cut;
    expect(await service.consume(log, 's')).toMatchObject({ reason: 'blocked' });
    cut = proxy.dropReply({ when: isEvalsha });
    await service.reset(log, 's');
    await cut;
    expect(await service.consume(log, 's')).toMatchObject({ allowed: true });
  });

  it('SCRIPT FLUSH during checks: none fails, and exactly the limit is allowed', async () => {
    const { service } = await open({ deadlineMs: 10_000 }, { cachedRefusals: 0 });
    const rule = { name: 'flushed', limit: 100, ...minute };
    const decisions = await Promise.all(
      Array.from({ length: 500 }, (_, i) => {
        if (i === 250) void admin.script('FLUSH');
        return service.consume(rule, 's');
      }),
    );
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(100);
    expect(failures).toEqual([]);
  });

  it('a Redis user without permission for the commands: the policy decides, and the event has the reason', async () => {
    await admin.acl('SETUSER', 'poor', 'on', '>pw', '~*', '&*', '+@all', '-incrby', '-set');
    const { service } = await open(
      { deadlineMs: 10_000, onRedisError: 'deny' },
      {},
      { username: 'poor', password: 'pw' },
    );
    expect(await service.consume({ name: 'poor', limit: 1, ...minute }, 's')).toMatchObject({ reason: 'redis-error' });
    expect(String(failures[0]?.error)).toMatch(NO_PERMISSION);
  });

  it('a Redis user without a command of the fixed window: the policy decides, and no hit is charged by two scripts', async () => {
    await admin.acl('SETUSER', 'older', 'on', '>pw', '~*', '&*', '+@all', '-pttl');
    const { service } = await open(
      { deadlineMs: 10_000, onRedisError: 'deny' },
      {},
      { username: 'older', password: 'pw' },
    );
    const rule = { name: 'older', limit: 4, ...minute };
    expect(await service.consume(rule, 's')).toMatchObject({ allowed: true });
    expect(await service.consume(rule, 's')).toMatchObject({ reason: 'redis-error' });
    expect(String(failures.at(-1)?.error)).toMatch(NO_PERMISSION);
    const [counter = ''] = await admin.keys('*:fixed-window:older:*');
    expect(await admin.get(counter)).toBe('2');
  });
});
