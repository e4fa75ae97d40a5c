import { inspect } from 'node:util';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Cluster, Redis, ReplyError } from 'ioredis';
import calculateSlot from 'cluster-key-slot';
import {
  NotSentError,
  ScriptRegistryEvents,
  ScriptRegistry,
  UnknownOutcomeError,
  defineScript,
  int,
  str,
} from 'luanest/script-registry';
import {
  startCluster,
  startFaultProxy,
  startRedis,
  type RedisCluster,
  type RedisServer,
} from 'luanest/testing/servers';
import { connectIoredis } from '../src/connection/ioredis-connection';
import { commandFor, failureOf } from '../src/connection/ioredis-node';
import { resolveOptions } from '../src/script-registry.options';
import { eventually } from '../../../test/support/wait';
import { append, countOnce, limiter, openRegistry, quiet } from './support';
import { itIoredis } from '../../../test/support/client-kind';

/** Counts its runs. Then it raises or returns an error, or keeps Redis busy, as its arguments say. */
const told = defineScript({
  name: 'test.told',
  keys: ['runs'],
  args: { error: str, spins: int, how: str },
  source: `
redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], 600000)
local x = 0
for i = 1, tonumber(ARGV[2]) do x = x + i end
if ARGV[3] == 'raised' then error({ err = ARGV[1] }) end
if ARGV[3] == 'returned' then return redis.error_reply(ARGV[1]) end
return x`,
  reply: (raw: unknown) => raw,
});

const CODES = [
  'OOM quota',
  'READONLY account',
  'BUSY account',
  'NOPERM not yours',
  'LOADING later',
  'MYCODE x',
  'TRYAGAIN later',
  'MOVED on',
  'MOVED 1 127.0.0.1:7000',
  'TRYAGAIN Multiple keys request during rehashing of slot',
  'NOSCRIPT No matching script here',
];
const SPINS = 20_000_000;
const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function open(client: Redis | Cluster, options = {}): Promise<ScriptRegistry> {
  const registry = await openRegistry(quiet(client), { preload: 'required', ...options }, [
    told,
    countOnce,
    append,
    limiter,
  ]);
  closing.push(() => (registry.close(), client.disconnect()));
  return registry;
}

describe('outcomes of calls on one server', () => {
  let server: RedisServer;
  let admin: Redis;

  beforeAll(async () => {
    server = await startRedis();
    admin = quiet(new Redis(server.port));
  });
  beforeEach(() => admin.flushall());
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });

  const client = (options = {}): Redis => new Redis(server.port, '127.0.0.1', { retryStrategy: () => 20, ...options });

  describe.each([true, false])(
    'an error of a script that wrote never counts as without effect, grouping %s:',
    (grouping) => {
      it.each(CODES.flatMap((error) => ['raised', 'returned'].map((how) => ({ error, how }))))(
        '$error, $how',
        async ({ error, how }) => {
          const registry = await open(client(), { grouping });
          const run = (): Promise<unknown> =>
            registry.run(told, { keys: { runs: 'runs' }, args: { error, spins: 0, how } }).then(
              () => 'done',
              ({ code }: { code: string }) => code,
            );
          // Redis adds the script to an error that a script raised. If an error with a code of Redis was returned, the outcome is unknown.
          const alone = how === 'raised' || error.startsWith('MYCODE') ? 'SCRIPT_FAILED' : 'UNKNOWN_OUTCOME';
          expect(await run()).toBe(alone);
          expect(await admin.get('runs')).toBe('1');
          const outcomes = await Promise.all(Array.from({ length: 8 }, run));
          // In a group, an error of a call is known to be the script's.
          for (const outcome of outcomes)
            expect(outcome).toMatch(grouping ? /^(SCRIPT_FAILED|UNKNOWN_OUTCOME)$/ : alone);
          if (grouping) expect(outcomes.at(-1)).toBe('SCRIPT_FAILED');
          expect(await admin.get('runs')).toBe('9');
        },
      );
    },
  );

  describe('a refusal of the server', () => {
    const call = (registry: ScriptRegistry): Promise<unknown> =>
      registry.run(told, { keys: { runs: 'runs' }, args: { error: '', spins: 0, how: '' } });

    /** Makes calls alone and in a group, which Redis refuses. None of them ran. */
    async function expectRefused(registry: ScriptRegistry, redisCode: string): Promise<void> {
      await expect(call(registry)).rejects.toMatchObject({ code: 'SCRIPT_REFUSED', redisCode });
      for (const outcome of await Promise.allSettled(Array.from({ length: 8 }, () => call(registry)))) {
        expect(outcome).toMatchObject({ reason: { code: 'SCRIPT_REFUSED', redisCode } });
      }
    }

    afterEach(async () => {
      await admin.replicaof('NO', 'ONE');
      for (const option of ['maxmemory', 'min-replicas-to-write']) await admin.config('SET', option, '0');
      expect(await admin.get('runs')).toBeNull();
    });

    it.each([
      ['OOM', 'maxmemory', '1'],
      ['NOREPLICAS', 'min-replicas-to-write', '1'],
    ])('is reported as it is: %s', async (code, option, value) => {
      const registry = await open(client());
      await admin.config('SET', option, value);
      await expectRefused(registry, code);
    });

    it('of a replica is reported as it is: READONLY', async () => {
      const registry = await open(client());
      await admin.replicaof('127.0.0.1', '1');
      await expectRefused(registry, 'READONLY');
    });

    it.each([
      ['a command', '-evalsha', /has no permissions to run the 'evalsha' command/],
      ['a key', 'resetkeys', /permissions to access/],
    ])('of permissions is reported as it is: NOPERM of %s', async (what, rule, text) => {
      const user = `of-${what.replace(' ', '-')}`;
      await admin.acl('SETUSER', user, 'on', '>pw', '~*', '&*', '+@all');
      const registry = await open(client({ username: user, password: 'pw' }));
      await admin.acl('SETUSER', user, rule);
      await expectRefused(registry, 'NOPERM');
      await expect(call(registry)).rejects.toThrow(text);
    });

    it('is reported as it is: BUSY', async () => {
      const registry = await open(client());
      await admin.config('SET', 'busy-reply-threshold', '1');
      const busy = admin.duplicate();
      const spinning = busy.eval('while true do end', 0).catch((error: Error) => error.message);
      await eventually(() => expect(admin.ping()).rejects.toThrow(/^BUSY /));
      try {
        await expectRefused(registry, 'BUSY');
      } finally {
        await admin.call('SCRIPT', 'KILL');
        expect(await spinning).toMatch(/killed/i);
        await admin.config('SET', 'busy-reply-threshold', '5000');
        busy.disconnect();
      }
    });

    it('is reported as it is: LOADING', async () => {
      const own = await startRedis({ args: ['--enable-debug-command', 'yes', '--key-load-delay', '100'] });
      const [root, probe, user] = [1, 2, 3].map(() => quiet(new Redis(own.port, { enableReadyCheck: false, maxLoadingRetryTime: 0 }))) as [Redis, Redis, Redis]; // prettier-ignore
      try {
        const registry = await open(user);
        await Promise.all([root.ping(), probe.ping()]);
        // Redis serves other connections each time it has read so many bytes.
        await root.config('SET', 'loading-process-events-interval-bytes', '1024');
        await root.call('DEBUG', 'POPULATE', '20000');
        const reload = root.call('DEBUG', 'RELOAD');
        await eventually(() => expect(probe.get('x')).rejects.toThrow(/^LOADING /), { everyMs: 1 });
        await expect(call(registry)).rejects.toMatchObject({ code: 'SCRIPT_REFUSED', redisCode: 'LOADING' });
        await reload;
        expect(await root.exists('runs')).toBe(0);
      } finally {
        for (const each of [root, probe, user]) each.disconnect();
        await own.stop();
      }
    });
  });

  it('a call whose reply was lost is not harmless because its second sending was refused', async () => {
    const proxy = await startFaultProxy(server);
    closing.push(() => void proxy.stop());
    const registry = await open(new Redis(proxy.port, '127.0.0.1', { retryStrategy: () => 150 }));
    const cut = proxy.dropReply({ when: (request) => /evalsha/i.test(request) });
    const call = registry.run(told, { keys: { runs: 'runs' }, args: { error: '', spins: 0, how: '' } });
    void cut.then(() => admin.config('SET', 'min-replicas-to-write', '1'));
    await expect(call).rejects.toThrow(UnknownOutcomeError);
    await admin.config('SET', 'min-replicas-to-write', '0');
    expect(await admin.get('runs')).toBe('1');
  });

  it('errors and events carry no key and no argument, of the call or of its neighbours', async () => {
    const registry = await open(client());
    const events: unknown[] = [];
    const listener = (message: unknown): void => void events.push(message);
    subscribe(ScriptRegistryEvents.callFailed, listener);
    await admin.config('SET', 'maxmemory', '1');
    const outcomes = await Promise.allSettled(
      ['a', 'b', 'c'].map((who) =>
        registry.run(append, { keys: { log: `key-${who}` }, args: { entry: `SECRET-${who}` } }),
      ),
    );
    await admin.config('SET', 'maxmemory', '0');
    unsubscribe(ScriptRegistryEvents.callFailed, listener);
    expect(events).toHaveLength(3);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: { redisCode: 'OOM' } });
    expect(inspect([outcomes, events], { depth: 20, showHidden: true })).not.toMatch(/SECRET|key-[abc]/);
  });

  itIoredis('a listener of failures may call again: its call is settled, too', async () => {
    const redis = client();
    const registry = await open(redis);
    redis.disconnect();
    await eventually(() => expect(redis.status).toBe('end'));
    const seconds: Promise<unknown>[] = [];
    const call = (deadlineMs: number): Promise<unknown> =>
      registry.run(append, { keys: { log: 'x' }, args: { entry: 'x' } }, { deadlineMs });
    const listener = (): void => {
      if (seconds.length === 0) seconds.push(call(50).catch((error: unknown) => error));
    };
    subscribe(ScriptRegistryEvents.callFailed, listener);
    await expect(call(50)).rejects.toThrow(NotSentError);
    expect(await seconds[0]).toBeInstanceOf(NotSentError);
    unsubscribe(ScriptRegistryEvents.callFailed, listener);
  });

  it('runAndWait writes where run does, after a SELECT as well, and its wait is bounded by its deadline', async () => {
    const redis = client();
    await redis.select(3);
    const registry = await open(redis);
    const call = { keys: { log: 'x' }, args: { entry: 'x' } };
    await registry.run(append, call);
    expect(await registry.runAndWait(append, call, { replicas: 1, timeoutMs: 20 })).toEqual({ result: 2, replicas: 0 });
    await expect(registry.runAndWait(append, call, { replicas: 1, timeoutMs: 100, deadlineMs: 100 })).rejects.toThrow(
      /less than/,
    );
    await expect(registry.runAndWait(append, call, { replicas: 0, timeoutMs: 100 })).rejects.toThrow(/replicas/);
  });

  it('a wait that could not even connect is not sent, and long waits hold up none but their like', async () => {
    const proxy = await startFaultProxy(server);
    closing.push(() => void proxy.stop());
    const registry = await open(new Redis(proxy.port, '127.0.0.1'));
    const call = { keys: { log: 'x' }, args: { entry: 'x' } };
    proxy.blackhole();
    await expect(registry.runAndWait(append, call, { replicas: 1, timeoutMs: 50, deadlineMs: 300 })).rejects.toThrow(
      NotSentError,
    );
    expect(await admin.llen('x')).toBe(0);
    const direct = await open(client());
    const long = direct.runAndWait(append, call, { replicas: 1, timeoutMs: 600 });
    await expect(
      direct.runAndWait(append, call, { replicas: 1, timeoutMs: 50, deadlineMs: 4_000 }),
    ).resolves.toMatchObject({ replicas: 0 });
    await long;
  });

  it('a ScriptRegistry without scripts reports no failed load', async () => {
    const loads: ScriptRegistryEvents['scriptsLoaded'][] = [];
    const listener = (message: unknown): void => {
      const load = message as ScriptRegistryEvents['scriptsLoaded'];
      if (load.registry === 'empty') loads.push(load);
    };
    subscribe(ScriptRegistryEvents.scriptsLoaded, listener);
    const redis = quiet(client());
    const registry = new ScriptRegistry('empty', connectIoredis(redis), resolveOptions({ preload: 'required' }));
    closing.push(() => (registry.close(), redis.disconnect()));
    await registry.onModuleInit();
    // The load at boot, and the check half a second later.
    await eventually(() => expect(loads.length).toBeGreaterThan(1));
    unsubscribe(ScriptRegistryEvents.scriptsLoaded, listener);
    expect(loads.map(({ scripts, error }) => [scripts, error])).toEqual(loads.map(() => [0, undefined]));
  });

  it.each(['callStarted', 'callEnded'] as const)('publishes %s to its only subscriber', async (channel) => {
    const registry = await open(client());
    const published: string[] = [];
    const listener = (message: unknown): void => {
      const event = message as ScriptRegistryEvents['callStarted'] & ScriptRegistryEvents['callEnded'];
      published.push((event.call ?? event).script);
    };
    subscribe(ScriptRegistryEvents[channel], listener);
    await registry.run(append, { keys: { log: 'x' }, args: { entry: 'x' } });
    // Another registry of this process may still end its calls.
    await eventually(() => expect(published.filter((script) => script === append.name)).toEqual([append.name]));
    unsubscribe(ScriptRegistryEvents[channel], listener);
  });

  it('a closed ScriptRegistry refuses calls and listeners, and names the reason', async () => {
    const registry = await open(client());
    registry.close();
    const call = registry.run(append, { keys: { log: 'x' }, args: { entry: 'x' } });
    await expect(call).rejects.toThrow(
      'The script test.append was not sent, because ScriptRegistry "test" is closed: the app is shutting down.',
    );
    await expect(registry.listen('x', () => undefined)).rejects.toThrow(
      /^ScriptRegistry did not subscribe .* shutting down/,
    );
  });

  it('scripts that are registered late, several at once, are on the node soon', async () => {
    const registry = await open(client());
    const late = ['a', 'b', 'c'].map((name) =>
      defineScript({
        name: `late.${name}`,
        keys: ['k'],
        args: {},
        source: `return KEYS[1] .. '${name}'`,
        reply: (raw: string) => raw,
      }),
    );
    registry.register(late.slice(0, 1));
    registry.register(late.slice(1));
    await eventually(async () => expect(await registry.health()).toEqual({ healthy: true, problems: [] }));
  });

  it('a script that would switch off replication for its neighbours runs alone', async () => {
    const own = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
    try {
      const selfish = defineScript({
        name: 'test.selfish',
        keys: ['log'],
        args: { off: int },
        source: `if ARGV[1] == '1' then redis.set_repl(redis.REPL_NONE) end redis.call('SET', KEYS[1], 1, 'PX', 600000) return 1`,
        reply: (raw: number) => raw,
      });
      const registry = await open(new Redis(own.port, '127.0.0.1', { retryStrategy: () => 50 }));
      registry.register([selfish]);
      await Promise.all([0, 1, 0, 0].map((off, i) => registry.run(selfish, { keys: { log: `k${i}` }, args: { off } })));
      await own.kill();
      await own.restart();
      const check = quiet(new Redis(own.port));
      expect(await check.mget('k0', 'k1', 'k2', 'k3')).toEqual(['1', null, '1', '1']);
      check.disconnect();
    } finally {
      await own.stop();
    }
  });
});

describe('outcomes of calls on a Cluster', () => {
  let cluster: RedisCluster;

  beforeAll(async () => {
    cluster = await startCluster({ replicas: 0 });
  });
  afterAll(() => cluster.stop());

  const client = (redisOptions = {}): Cluster =>
    new Cluster(cluster.startupNodes, { slotsRefreshTimeout: 5_000, clusterRetryStrategy: () => 50, redisOptions });

  async function runsOf(key: string): Promise<string | null> {
    const probe = quiet(new Redis((await cluster.masterOf(key)).port));
    const runs = await probe.get(key);
    probe.disconnect();
    return runs;
  }

  itIoredis('a call that runs while all connections close is not called unsent', async () => {
    const redis = client();
    const registry = await open(redis);
    const call = registry.run(
      told,
      { keys: { runs: 'closed' }, args: { error: '', spins: SPINS, how: '' } },
      { deadlineMs: 20_000 },
    );
    for (const node of redis.nodes()) node.stream.destroy();
    const [outcome] = await Promise.allSettled([call]);
    await eventually(async () => expect(Number(await runsOf('closed'))).toBeGreaterThan(0));
    if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(UnknownOutcomeError);
  });

  itIoredis('a command that timed out is still running, and is not sent again', async () => {
    const redis = client();
    const registry = await open(redis);
    // From now on: nodes under load may need longer for what comes at boot.
    for (const node of redis.nodes()) node.options.commandTimeout = 100;
    const call = registry.run(
      told,
      { keys: { runs: 'slow' }, args: { error: '', spins: SPINS * 2, how: '' } },
      { deadlineMs: 20_000 },
    );
    await expect(call).rejects.toThrow(UnknownOutcomeError);
    await eventually(async () => expect(await runsOf('slow')).toBe('1'));
  });

  itIoredis(
    'with resending off, a redirected call whose connection closes runs once and is UNKNOWN_OUTCOME',
    async () => {
      const redis = client({ autoResendUnfulfilledCommands: false });
      const registry = await open(redis);
      const slot = calculateSlot('moved');
      const from = await cluster.masterOf(slot);
      const to = (await cluster.masters()).find((master) => master !== from) as RedisServer;
      await cluster.migrateSlot(slot, from, to);
      const node = redis.nodes().find(({ options }) => options.port === to.port) as Redis;
      // Until the connection is closed nothing is answered there, so it is closed before the answer on any machine.
      to.pause();
      try {
        const call = registry.run(
          told,
          { keys: { runs: 'moved' }, args: { error: '', spins: 0, how: '' } },
          { deadlineMs: 20_000 },
        );
        const rejection = expect(call).rejects.toThrow(UnknownOutcomeError);
        await eventually(
          () =>
            expect((node as unknown as { commandQueue: { length: number } }).commandQueue.length).toBeGreaterThan(0),
          { everyMs: 1 },
        );
        node.stream.destroy();
        await rejection;
      } finally {
        to.resume();
      }
      await eventually(async () => expect(await runsOf('moved')).toBe('1'));
    },
  );

  itIoredis('a call that is sent again to a node without scripts runs there', async () => {
    const redis = client();
    const registry = await open(redis);
    const slot = calculateSlot('resent');
    const owner = await cluster.masterOf(slot);
    const other = (await cluster.masters()).find((master) => master !== owner) as RedisServer;
    const node = redis.nodes().find(({ options }) => options.port === other.port) as Redis;
    const admin = quiet(new Redis(owner.port));
    const healed: string[] = [];
    const listener = (event: unknown): void => void healed.push((event as ScriptRegistryEvents['scriptsHealed']).node);
    subscribe(ScriptRegistryEvents.scriptsHealed, listener);
    other.pause();
    try {
      redis.slots[slot] = [`${other.host}:${other.port}`];
      const call = registry.run(told, { keys: { runs: 'resent' }, args: { error: '', spins: 0, how: '' } });
      redis.slots[slot] = [`${owner.host}:${owner.port}`];
      await admin.script('FLUSH');
      node.stream.destroy();
      expect(await call).toBe(0);
    } finally {
      other.resume();
      unsubscribe(ScriptRegistryEvents.scriptsHealed, listener);
      admin.disconnect();
    }
    expect(healed).not.toContain(`${other.host}:${other.port}`);
    expect(await runsOf('resent')).toBe('1');
  });
});

it('an error reply is known by its class, whatever a bundler calls that', () => {
  class A extends (ReplyError as new (message: string) => Error) {}
  const client = quiet(new Redis({ lazyConnect: true }));
  const failure = failureOf(commandFor(client, 'EVALSHA', []), new A('NOSCRIPT No matching script.'));
  expect([failure.kind, failure.noScript]).toEqual(['reply', true]);
  client.disconnect();
});
