import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Redis, type RedisOptions } from 'ioredis';
import {
  NotSentError,
  ScriptRegistryEvents,
  ScriptFailedError,
  ScriptRefusedError,
  UnknownOutcomeError,
  defineScript,
  str,
  type ScriptRegistry,
} from 'luanest/script-registry';
import { startFaultProxy, startRedis, type FaultProxy, type RedisServer } from 'luanest/testing/servers';
import { CommandWatcher } from '../../../test/support/command-watcher';
import { processWarnings } from '../../../test/support/process-warnings';
import { eventually, sleep } from '../../../test/support/wait';
import { append, countOnce, limitCallsInFlight, openRegistry, quiet, shapes } from './support';
import { itIoredis } from '../../../test/support/client-kind';

const isEvalsha = (request: string): boolean => /evalsha/i.test(request);
const keys = { counter: '{f}:counter', tokens: '{f}:tokens' };

describe('faults between a registry and one server', () => {
  let server: RedisServer;
  let proxy: FaultProxy;
  let admin: Redis;
  const closing: (() => void)[] = [];

  beforeAll(async () => {
    server = await startRedis();
    proxy = await startFaultProxy(server);
  });
  beforeEach(async () => {
    proxy.pass();
    admin = quiet(new Redis(server.port));
    await admin.flushall();
  });
  afterEach(() => {
    for (const close of closing.splice(0)) close();
    admin.disconnect();
  });
  afterAll(async () => {
    await proxy.stop();
    await server.stop();
  });

  async function open(options: RedisOptions = {}, port = proxy.port): Promise<[ScriptRegistry, Redis]> {
    const client = quiet(new Redis(port, '127.0.0.1', { retryStrategy: () => 20, ...options }));
    const registry = await openRegistry(client, { preload: 'required' });
    closing.push(() => {
      registry.close();
      client.disconnect();
    });
    return [registry, client];
  }

  const count = (
    registry: ScriptRegistry,
    token: string,
    deadlineMs?: number,
  ): Promise<{ count: number; replayed: boolean }> =>
    registry.run(countOnce, { keys, args: { token } }, { deadlineMs });

  itIoredis(
    'a lost reply: with resending on, the calls of the group get the replay of their first answers',
    async () => {
      const [registry] = await open();
      const cut = proxy.dropReply({ when: isEvalsha });
      const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => count(registry, `t${i}`)));
      await cut;
      expect(answers.map(({ count: n }) => n)).toEqual(Array.from({ length: 50 }, (_, i) => i + 1));
      expect(answers.some(({ replayed }) => replayed)).toBe(true);
      expect(await admin.get(keys.counter)).toBe('50');
    },
  );

  itIoredis('a lost reply: `reply` gets to know that the call was sent again, alone and in a group', async () => {
    const [registry] = await open();
    const add = defineScript({
      name: 'test.add-once',
      keys: ['ids'],
      args: { id: str },
      source: `local added = redis.call('SADD', KEYS[1], ARGV[1]) redis.call('PEXPIRE', KEYS[1], 60000) return added`,
      reply: (added: number, resent) => [added, resent],
    });
    registry.register([add]);
    const run = (id: string): Promise<unknown> => registry.run(add, { keys: { ids: '{f}:ids' }, args: { id } });
    expect(await run('first')).toEqual([1, false]);
    let cut = proxy.dropReply({ when: isEvalsha });
    expect(await run('alone')).toEqual([0, true]);
    await cut;
    const isGroup = (request: string): boolean => isEvalsha(request) && request.includes('id-7');
    cut = proxy.dropReply({ when: isGroup });
    const replies = await Promise.all(Array.from({ length: 20 }, (_, i) => run(`id-${i}`)));
    await cut;
    expect(replies[7]).toEqual([0, true]);
    for (const reply of replies) expect([[1, false], [0, true], [1, true]]).toContainEqual(reply); // prettier-ignore
    expect(await run('last')).toEqual([1, false]);
  });

  it('a lost reply: with resending off, the call ends as unknown outcome at once, and ran once', async () => {
    const [registry] = await open({ autoResendUnfulfilledCommands: false });
    const cut = proxy.dropReply({ when: isEvalsha });
    const started = performance.now();
    const call = count(registry, 't');
    await expect(call).rejects.toThrow(UnknownOutcomeError);
    // Its deadline is after five seconds.
    expect(performance.now() - started).toBeLessThan(4_000);
    await cut;
    expect(await admin.get(keys.counter)).toBe('1');
    expect(await eventually(() => count(registry, 't'))).toEqual({ count: 1, replayed: true });
  });

  it('a blackhole: calls that left end as unknown outcome at the deadline, the others as not sent', async () => {
    const [registry] = await open();
    const client2 = quiet(new Redis(proxy.port, '127.0.0.1', { retryStrategy: () => 20 }));
    const small = await openRegistry(client2, { preload: 'required' });
    limitCallsInFlight(small, 1);
    closing.push(() => (small.close(), client2.disconnect()));
    proxy.blackhole();
    const started = performance.now();
    const first = count(small, 'a', 200);
    const second = count(small, 'b', 200);
    const third = count(registry, 'c', 200);
    const outcomes = await Promise.allSettled([first, second, third]);
    expect(performance.now() - started).toBeGreaterThan(190);
    expect(outcomes).toMatchObject([
      { reason: expect.any(UnknownOutcomeError) },
      { reason: expect.any(NotSentError) },
      { reason: expect.any(UnknownOutcomeError) },
    ]);
    expect((outcomes[0] as PromiseRejectedResult).reason.message).toContain('test.count-once');
  });

  it('a process that was busy past the deadline takes the answers that came meanwhile', async () => {
    const [registry] = await open({}, server.port);
    await count(registry, 'first');
    const afterBusyMs = async (busyMs: number): Promise<void> => {
      const calls = ['lone', 'a', 'b'].map((name) => count(registry, `${name}-${busyMs}`, 40));
      await new Promise(setImmediate);
      const busyUntil = performance.now() + busyMs;
      while (performance.now() < busyUntil);
      const replays = (await Promise.all(calls)).map(({ replayed }) => replayed);
      expect(replays).toEqual([false, false, false]);
    };
    // Redis may be in want of a core itself, and answer later than that.
    await afterBusyMs(120)
      .catch(() => afterBusyMs(1_000))
      .catch(() => afterBusyMs(3_000));
  });

  itIoredis(
    'while Redis is unavailable, calls are held by the registry, not by the client, and sent when it is back',
    async () => {
      const [registry, client] = await open();
      proxy.refuse();
      await eventually(() => expect(client.status).not.toBe('ready'));
      const expired = count(registry, 'x', 100);
      const held = count(registry, 'y', 10_000);
      expect((client as unknown as { offlineQueue: { length: number } }).offlineQueue).toHaveLength(0);
      await expect(expired).rejects.toThrow(NotSentError);
      proxy.pass();
      expect(await held).toEqual({ count: 1, replayed: false });
      expect(await admin.hexists(keys.tokens, 'x')).toBe(0);
    },
  );

  itIoredis('resets under load lose nothing and double nothing', async () => {
    const [registry] = await open({ maxRetriesPerRequest: null });
    const counts: number[] = [];
    let resets = 0;
    let before = 0;
    // On a slow machine, a link that is cut every 60 ms would carry no call. So each link carries one, and none is cut after the last reset.
    const timer = setInterval(() => {
      if (resets === 8 || counts.length === before) return;
      before = counts.length;
      proxy.cut();
      resets += 1;
    }, 60);
    await Promise.all(
      Array.from({ length: 20 }, async (_, worker) => {
        for (let i = 0; resets < 8; i++) counts.push((await count(registry, `w${worker}-${i}`, 30_000)).count);
      }),
    ).finally(() => clearInterval(timer));
    expect(new Set(counts).size).toBe(counts.length);
    expect(await admin.get(keys.counter)).toBe(String(counts.length));
  });

  it('a restart of the server: what was lost with it is loaded again, and calls go on', async () => {
    const own = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
    try {
      const [registry] = await open({ maxRetriesPerRequest: null }, own.port);
      await count(registry, 'before');
      await own.kill();
      // Otherwise the call may be written to the connection that has just broken. Not each client sends such a call again.
      await sleep(50);
      const during = count(registry, 'during', 20_000);
      await own.restart();
      expect(await during).toEqual({ count: 2, replayed: false });
      const check = new Redis(own.port);
      expect(await check.info('commandstats')).not.toMatch(/cmdstat_eval:/);
      check.disconnect();
    } finally {
      await own.stop();
    }
  });

  it('SCRIPT FLUSH amid calls: every effect once, no EVAL', async () => {
    const [registry] = await open({}, server.port);
    await admin.config('RESETSTAT');
    const answers: { count: number }[] = [];
    let flushed: Promise<unknown> | undefined;
    // One flush a round: two that fall between a call's tries would rightly end in EVAL.
    for (let round = 0; round < 4; round++) {
      const runs = Array.from({ length: 250 }, (_, i) => {
        if (i === 100) flushed = admin.script('FLUSH');
        return count(registry, `t${round}-${i}`);
      });
      answers.push(...(await Promise.all(runs)));
      await flushed;
      answers.push(await count(registry, `heal${round}`));
    }
    expect(new Set(answers.map(({ count: n }) => n)).size).toBe(1_004);
    expect(await admin.info('commandstats')).not.toMatch(/cmdstat_eval:/);
  });

  it('an error that only speaks of NOSCRIPT is run once, in a group and alone', async () => {
    const liar = defineScript({
      name: 'test.liar',
      keys: ['log'],
      args: { text: str },
      source: `redis.call('RPUSH', KEYS[1], ARGV[1]) return redis.error_reply(ARGV[1])`,
      reply: (raw: string) => raw,
    });
    const plain = quiet(new Redis(server.port));
    const ungrouped = await openRegistry(plain, { grouping: false }, [liar]);
    closing.push(() => (ungrouped.close(), plain.disconnect()));
    const [grouped] = await open({}, server.port);
    grouped.register([liar]);
    for (const registry of [grouped, ungrouped]) {
      for (const text of [
        'NOSCRIPT sounds like it',
        'ERR NOSCRIPT No matching script. Please use EVAL.',
        'x NOSCRIPT',
      ]) {
        await admin.del('liar');
        const code = text.startsWith('NOSCRIPT') ? 'UNKNOWN_OUTCOME' : 'SCRIPT_FAILED';
        await expect(registry.run(liar, { keys: { log: 'liar' }, args: { text } })).rejects.toMatchObject({ code });
        expect(await admin.llen('liar')).toBe(1);
      }
    }
  });

  it('READONLY, OOM and a missing permission refuse a call before it runs, and say so', async () => {
    const [registry] = await open({}, server.port);
    const call = (): Promise<number> => registry.run(append, { keys: { log: '{f}:log' }, args: { entry: 'x' } });
    await admin.config('SET', 'maxmemory', '1');
    await expect(call()).rejects.toMatchObject({ code: 'SCRIPT_REFUSED', redisCode: 'OOM' });
    await admin.config('SET', 'maxmemory', '0');
    await admin.replicaof('127.0.0.1', '1');
    await expect(call()).rejects.toThrow(ScriptRefusedError);
    await expect(call()).rejects.toMatchObject({ redisCode: expect.stringMatching(/READONLY|MASTERDOWN/) });
    await admin.replicaof('NO', 'ONE');
    await admin.acl('SETUSER', 'limited', 'on', '>pw', '~{f}:*', '+@all');
    const [limited] = await open({ username: 'limited', password: 'pw' }, server.port);
    const outcomes = await Promise.allSettled(
      ['{f}:log', 'forbidden', '{f}:log'].map((log) => limited.run(append, { keys: { log }, args: { entry: 'x' } })),
    );
    expect(outcomes).toMatchObject([
      { value: 1 },
      { reason: { code: 'SCRIPT_REFUSED', redisCode: 'NOPERM' } },
      { value: 2 },
    ]);
  });

  it('SCRIPT LOAD forbidden: EVAL is the last resort, after two tries', async () => {
    await admin.acl('SETUSER', 'noload', 'on', '>pw', '~*', '+@all', '-script|load');
    const client = quiet(new Redis(server.port, { username: 'noload', password: 'pw' }));
    const only = defineScript({
      name: 'test.only',
      keys: ['log'],
      args: { entry: str },
      source: `${append.source} -- only here`,
      reply: (n: number) => n,
    });
    const registry = await openRegistry(client, {}, [only]);
    closing.push(() => (registry.close(), client.disconnect()));
    expect(await registry.health()).toMatchObject({ healthy: false });
    expect(await registry.run(only, { keys: { log: '{f}:log' }, args: { entry: 'x' } })).toBe(1);
  });

  itIoredis('a subscription that Redis refuses, or that has no connection, is NOT_SENT', async () => {
    await admin.acl('SETUSER', 'deaf', 'on', '>pw', '~*', '+@all', 'resetchannels');
    const client = quiet(new Redis(server.port, { username: 'deaf', password: 'pw' }));
    const registry = await openRegistry(client);
    closing.push(() => (registry.close(), client.disconnect()));
    const refused = registry.listen('{f}:channel', () => undefined);
    await expect(refused).rejects.toBeInstanceOf(NotSentError);
    await expect(refused).rejects.toThrow(/^ScriptRegistry could not subscribe to the channel: NOPERM /);
    client.disconnect();
    await eventually(() => expect(client.status).toBe('end'));
    await expect(registry.listen('{f}:channel', () => undefined)).rejects.toThrow(/is not connected/);
  });

  it('50 subscriptions at once cause no warning of Node', async () => {
    const warnings = processWarnings();
    const client = quiet(new Redis(server.port));
    const registry = await openRegistry(client);
    closing.push(() => (registry.close(), client.disconnect()));
    const channels = Array.from({ length: 50 }, (_, i) => `{f}:channel-${i}`);
    await Promise.all(channels.map((channel) => registry.listen(channel, () => undefined)));
    await warnings.stop();
    expect(warnings.texts).toEqual([]);
  });

  it.each(['evalsha', 'script|exists', 'ping'])(
    'health is red, with the reason, for a user without %s',
    async (command) => {
      const user = `no-${command.replace('|', '-')}`;
      await admin.acl('SETUSER', user, 'on', '>pw', '~*', '+@all', `-${command}`);
      const client = quiet(new Redis(server.port, { username: user, password: 'pw' }));
      const registry = await openRegistry(client, {}, [append]);
      closing.push(() => (registry.close(), client.disconnect()));
      const { healthy, problems } = await registry.health();
      expect({ healthy, problems }).toEqual({
        healthy: false,
        problems: [expect.stringMatching(/NOPERM.*permissions/)],
      });
      expect(problems[0]).toContain(`'${command}'`);
    },
  );

  it('health leaves no errors in the statistics of a node', async () => {
    const [registry] = await open({}, server.port);
    await registry.health();
    await admin.config('RESETSTAT');
    for (let i = 0; i < 3; i++) expect(await registry.health()).toEqual({ healthy: true, problems: [] });
    expect(await admin.info('errorstats')).not.toContain('errorstat_');
  });

  itIoredis(
    'what boot leaves on the wire is EVALSHA, TIME where a group was late, and one command for a lone call',
    async () => {
      const [registry, client] = await open({}, server.port);
      await count(registry, 'warm');
      // Not those of a closed registry of an earlier test, which may come late.
      const self = `127.0.0.1:${(client as unknown as { stream: { localPort: number } }).stream.localPort}`;
      const watcher = await CommandWatcher.open(server.port);
      // Nor the check of the connection, which is made each few seconds.
      const seen = (): string[] =>
        watcher.commands
          .filter(({ from, args }) => from === self && !/^exists$/i.test(String(args[1])))
          .map(({ args: [name] }) => String(name).toLowerCase());
      for (let i = 0; i < 20; i++) await count(registry, `m${i}`);
      await Promise.all(Array.from({ length: 300 }, (_, i) => count(registry, `g${i}`)));
      await eventually(() => expect(seen().length).toBeGreaterThan(20));
      // A machine under load may have answered a group late: then one is measured, between two TIMEs.
      expect(seen().filter((name) => name === 'time').length).toBeLessThanOrEqual(4);
      expect(new Set(seen().filter((name) => name !== 'time'))).toEqual(new Set(['evalsha']));
      // On a busy machine a late group makes the next ones smaller.
      expect(seen().length).toBeLessThan(20 + 300 / 3);
      watcher.close();
    },
  );

  it('publishes groups within their limits, heals and failures, without keys or arguments', async () => {
    const [registry] = await open({}, server.port);
    await count(registry, 'alone');
    await new Promise(setImmediate);
    const events: Record<string, unknown[]> = {};
    const groups = (): ScriptRegistryEvents['groupSent'][] =>
      (events['groupSent'] ?? []) as ScriptRegistryEvents['groupSent'][];
    const listeners = Object.entries(ScriptRegistryEvents).map(([name, channel]) => {
      const listener = (message: unknown): void => void (events[name] ??= []).push(message);
      subscribe(channel, listener);
      return () => unsubscribe(channel, listener);
    });
    let calls = 0;
    const largest = (): number => Math.max(...groups().map((group) => group.calls));
    // Groups of a script that is new to the registry are small, and so are those after a group that was late.
    await eventually(async () => {
      calls += 500;
      await Promise.all(Array.from({ length: 500 }, (_, i) => count(registry, `secret-${calls + i}`)));
      expect(largest()).toBeGreaterThan(64);
    });
    // A load of this registry that was still on its way may heal the script before the call does.
    let flushed = 0;
    await eventually(async () => {
      await admin.script('FLUSH');
      await count(registry, `secret-heal-${++flushed}`);
      expect(events['scriptsHealed']).toBeDefined();
    });
    await expect(
      registry.run(shapes, { keys: { any: '{f}:secret' }, args: { shape: 'raise', text: '' } }),
    ).rejects.toThrow();
    for (const stop of listeners) stop();
    expect(groups()[0]).toMatchObject({ registry: 'test', script: 'test.count-once', calls: 1, inFlight: 1 });
    expect(largest()).toBeLessThanOrEqual(128);
    expect(groups().reduce((sum, group) => sum + group.calls, 0)).toBe(calls + flushed + 1);
    expect(events['scriptsHealed']).toMatchObject([{ script: 'test.count-once' }]);
    expect(events['callFailed']).toMatchObject([{ script: 'test.shapes', error: expect.any(ScriptFailedError) }]);
    expect(JSON.stringify(events)).not.toContain('secret');
  });

  it('a group holds no more calls and characters than its script allows', async () => {
    const bounded = defineScript({
      name: 'test.bounded',
      keys: ['log'],
      args: { entry: str },
      source: append.source,
      reply: (n: number) => n,
      group: { maxCalls: 10 },
    });
    const [registry] = await open({}, server.port);
    registry.register([bounded]);
    const calls: number[] = [];
    const listener = (message: unknown): void => void calls.push((message as ScriptRegistryEvents['groupSent']).calls);
    subscribe(ScriptRegistryEvents.groupSent, listener);
    const run = (entry: string): Promise<number> =>
      registry.run(bounded, { keys: { log: '{f}:log' }, args: { entry } });
    await Promise.all(Array.from({ length: 100 }, () => run('x')));
    expect(Math.max(...calls)).toBe(10);
    calls.length = 0;
    await Promise.all(Array.from({ length: 50 }, () => run('x'.repeat(26_000))));
    expect(Math.max(...calls)).toBe(2);
    calls.length = 0;
    await Promise.all(Array.from({ length: 5 }, () => run('x'.repeat(70_000))));
    expect(calls).toEqual([1, 1, 1, 1, 1]);
    unsubscribe(ScriptRegistryEvents.groupSent, listener);
  });

  itIoredis(
    'a MULTI that other code has opened on the connection: the outcome is unknown, whatever ends it',
    async () => {
      const [registry, client] = await open({}, server.port);
      const calls = (name: string, n: number): Promise<unknown[]> =>
        Promise.all(
          Array.from({ length: n }, (_, i) => count(registry, `${name}${i}`).catch((error: unknown) => error)),
        );
      for (const [n, end] of [
        [1, 'exec'],
        [3, 'exec'],
        [1, 'discard'],
        [3, 'discard'],
      ] as const) {
        await client.multi({ pipeline: false });
        const outcomes = await calls(`${end}-${n}-`, n);
        expect(await registry.health()).toMatchObject({ healthy: false, problems: [expect.stringContaining('MULTI')] });
        await client[end]();
        for (const outcome of outcomes) {
          expect(outcome).toBeInstanceOf(UnknownOutcomeError);
          expect((outcome as Error).message).toContain('a transaction (MULTI) on this connection');
        }
        expect(await admin.hexists(keys.tokens, `${end}-${n}-0`)).toBe(end === 'exec' ? 1 : 0);
        expect(await registry.health()).toEqual({ healthy: true, problems: [] });
        // A call after it is a call like any other.
        expect(await count(registry, `after-${end}-${n}`)).toMatchObject({ replayed: false });
      }
    },
  );

  it('closing settles what waits and what is out', async () => {
    const [registry] = await open();
    proxy.blackhole();
    const out = count(registry, 'out');
    registry.close();
    await expect(out).rejects.toThrow(UnknownOutcomeError);
    await expect(count(registry, 'late')).rejects.toThrow(NotSentError);
  });
});

describe('a Sentinel-style failover', () => {
  it('to a node that was read-only loses and doubles nothing', async () => {
    const [one, two] = await Promise.all([startRedis(), startRedis()]);
    const [adminOne, adminTwo] = [quiet(new Redis(one.port)), quiet(new Redis(two.port))];
    await adminTwo.replicaof(one.host, String(one.port));
    await eventually(async () => expect(await adminTwo.info('replication')).toContain('master_link_status:up'));
    const client = quiet(new Redis(one.port));
    const registry = await openRegistry(client, { preload: 'required' });
    const results = { done: 0, refused: 0 };
    let stop = false;
    const load = Array.from({ length: 30 }, async (_, worker) => {
      for (let i = 0; !stop; i++) {
        await registry.run(countOnce, { keys, args: { token: `${worker}-${i}` } }).then(
          () => (results.done += 1),
          async (error: unknown) => {
            expect(error).toMatchObject({ code: 'SCRIPT_REFUSED', redisCode: 'READONLY' });
            results.refused += 1;
            await new Promise((resolve) => setTimeout(resolve, 5));
          },
        );
      }
    });
    try {
      await eventually(() => expect(results.done).toBeGreaterThan(500));
      // The old master is demoted while the client still talks to it: it refuses, whole groups at a time.
      await adminTwo.replicaof('NO', 'ONE');
      await adminOne.replicaof(two.host, String(two.port));
      await eventually(() => expect(results.refused).toBeGreaterThan(50));
      stop = true;
      await Promise.all(load);
      await eventually(async () => expect(Number(await adminTwo.get(keys.counter))).toBeLessThanOrEqual(results.done));
      const tokens = await adminTwo.hlen(keys.tokens);
      expect(Number(await adminTwo.get(keys.counter))).toBe(tokens);
    } finally {
      stop = true;
      await Promise.allSettled(load);
      registry.close();
      for (const each of [client, adminOne, adminTwo]) each.disconnect();
      await Promise.all([one.stop(), two.stop()]);
    }
  });
});
