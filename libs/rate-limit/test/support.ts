import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { ScriptRegistry, type ScriptDefinition } from 'luanest/script-registry';
import { connectClient } from '../../script-registry/src/connection/connect';
import { resolveOptions as resolveRegistryOptions } from '../../script-registry/src/script-registry.options';
import { standaloneClient } from '../../script-registry/test/support';
import { sharedClusterNodes, uniquePrefix } from '../../../test/support/shared-servers';
import type { Limiter } from '../src/limiter/decision';
import { RedisLimiter } from '../src/limiter/redis-limiter';
import { ResilientLimiter, type LimiterSettings } from '../src/limiter/resilient-limiter';
import { resolveOptions, type RateLimitModuleOptions, type ResolvedRateLimitOptions } from '../src/rate-limit.options';
import { rateLimitScripts } from '../src/rate-limit.scripts';
import { RateLimitService } from '../src/rate-limit.service';
import { named, resolveRule } from '../src/rules/resolve-rule';
import type { NamedRule, RateLimitRule } from '../src/rules/rule';

export const servers: [name: string, connect: () => Redis | Cluster][] = [
  ['standalone', () => standalone()],
  ['Cluster', () => quiet(new Cluster(sharedClusterNodes(), { slotsRefreshTimeout: 5_000 }))],
];

export function standalone(options: RedisOptions = {}, port?: number): Redis {
  return port === undefined ? standaloneClient(options) : quiet(new Redis(port, options));
}

export function quiet<T extends Redis | Cluster>(client: T): T {
  client.on('error', () => undefined);
  return client;
}

export interface Bench {
  readonly client: Redis | Cluster;
  readonly registry: ScriptRegistry;
  readonly service: RateLimitService;
  readonly limiter: RedisLimiter;
  readonly resilient: ResilientLimiter;
  readonly prefix: string;
  close(): void;
}

/** Makes a service with its own registry and key prefix, as the module makes it. */
export async function openBench(
  client: Redis | Cluster,
  options: RateLimitModuleOptions = {},
  { tags, ...settings }: Partial<LimiterSettings> & { readonly tags?: number } = {},
): Promise<Bench> {
  const prefix = uniquePrefix();
  const registry = await openRegistry(client, prefix, rateLimitScripts);
  // The default deadline is too short for a busy machine.
  const resolved = resolveOptions({ deadlineMs: 10_000, ...options });
  const limiter = new RedisLimiter(registry, tags);
  const resilient = new ResilientLimiter(limiter, resolved, settings);
  return {
    ...{ client, registry, limiter, resilient, prefix },
    service: new RateLimitService(resilient, resolved.rules),
    close() {
      registry.close();
      client.disconnect();
    },
  };
}

export async function openRegistry(
  client: Redis | Cluster,
  prefix: string,
  scripts: readonly ScriptDefinition[],
): Promise<ScriptRegistry> {
  const registry = new ScriptRegistry('default', connectClient(client), resolveRegistryOptions({ prefix }));
  registry.register(scripts);
  await registry.onModuleInit();
  return registry;
}

/** Makes a service of a limiter. */
export function serviceOf(
  limiter: Limiter,
  options: ResolvedRateLimitOptions,
  settings?: Partial<LimiterSettings>,
): RateLimitService {
  return new RateLimitService(new ResilientLimiter(limiter, options, settings), options.rules);
}

/** Returns a rule in the form that limiters take. */
export function ruleOf(rule: RateLimitRule & { name: string }): NamedRule {
  return named(resolveRule(rule), rule.name);
}

/**
 * Runs `quick`, and again up to 9 times if it fails after more than `withinMs`, because the machine was too slow.
 *
 * @param quick gets the number of earlier attempts, for unique names; an error within `withinMs` is final
 */
export async function inTime<T, P = undefined>(
  withinMs: number,
  quick: (n: number, prepared: P) => Promise<T>,
  prepare?: (n: number) => Promise<P>,
): Promise<T> {
  for (let n = 0; ; n++) {
    const prepared = (await prepare?.(n)) as P;
    const started = performance.now();
    try {
      return await quick(n, prepared);
    } catch (error) {
      if (performance.now() - started < withinMs || n === 9) throw error;
    }
  }
}

/** Returns all keys of a prefix, on all nodes. */
export async function keysUnder({ client, prefix }: Pick<Bench, 'client' | 'prefix'>): Promise<string[]> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client];
  const found = await Promise.all(
    nodes.map(async (node) => {
      const keys: string[] = [];
      for await (const batch of node.scanStream({ match: `${prefix}:*`, count: 10_000 })) {
        keys.push(...(batch as string[]));
      }
      return keys;
    }),
  );
  return found.flat();
}

/** Lua for `shared`: the test's clock, and the commands that count time from now, by that clock. */
const clockLua = (key: string): string =>
  `local test_time = redis.call('LRANGE', '${key}', 0, 1)
local test_ms = test_time[1] * 1000 + math.floor(test_time[2] / 1000)
local function test_call(command, key, ...)
  if command == 'PTTL' then
    local ends_ms = redis.call('PEXPIRETIME', key)
    return ends_ms < 0 and ends_ms or math.max(0, ends_ms - test_ms)
  end
  if command == 'PEXPIRE' then return redis.call('PEXPIREAT', key, test_ms + (...)) end
  local value, _, ms = ...
  return redis.call('SET', key, value, 'PXAT', test_ms + ms)
end
`;
/** Calls of these commands that `test_call` replaces: PTTL, PEXPIRE, and SET with PX. */
const BY_CLOCK = /redis\.call\((?='(?:PTTL|PEXPIRE)'|'SET', [^)]*'PX',)/g;

/**
 * Clock that a test sets and the scripts read: their `TIME` is replaced by a list in Redis, and commands that count time from now
 * by commands that count from the time in that list.
 */
export class TestClock {
  private readonly variants = new Map<ScriptDefinition, ScriptDefinition>();
  /** A day ahead of Redis' own clock, so that Redis itself expires nothing. */
  nowUs = (Date.now() + 86_400_000) * 1_000;

  private constructor(
    private readonly client: Redis,
    private readonly key: string,
  ) {
    for (const script of rateLimitScripts as readonly ScriptDefinition[]) {
      const byClock = (lua: string): string => lua.replace(BY_CLOCK, 'test_call(');
      const timed = byClock(script.source).replace("redis.call('TIME')", 'test_time');
      const marked = timed.includes('\n-- @call\n') ? timed : `-- @call\n${timed}`;
      const source = timed === script.source ? timed : clockLua(this.key) + marked;
      this.variants.set(script, Object.freeze({ ...script, source }));
    }
  }

  /** Monotonic time of this clock, ms. */
  get nowMs(): number {
    return this.nowUs / 1_000;
  }

  /** Opens a limiter whose scripts use this clock and are otherwise unchanged. */
  static async open(
    client: Redis,
  ): Promise<{ client: Redis; clock: TestClock; limiter: RedisLimiter; prefix: string; close(): void }> {
    const prefix = uniquePrefix();
    const clock = new TestClock(client, `${prefix}:clock`);
    const registry = await openRegistry(client, prefix, [...clock.variants.values()]);
    // `startedAtMs` is by this clock, and the registry has its own.
    const run = (script: ScriptDefinition, input: never): unknown =>
      registry.run(clock.variants.get(script) ?? script, input, { deadlineMs: 10_000 });
    const seam = { clustered: false, keySpace: (lib: string) => registry.keySpace(lib), run };
    await clock.set(clock.nowUs);
    return {
      ...{ client, clock, prefix },
      limiter: new RedisLimiter(seam as unknown as ScriptRegistry, 1, () => clock.nowMs),
      close() {
        registry.close();
        client.disconnect();
      },
    };
  }

  async set(us: number): Promise<void> {
    this.nowUs = us;
    const time = [Math.floor(us / 1_000_000), us % 1_000_000];
    await this.client
      .multi()
      .del(this.key)
      .rpush(this.key, ...time)
      .pexpire(this.key, 600_000)
      .exec();
  }
}

/** Returns the numbers of a reply of `consume` as text, without the time of the decision. */
export function withoutTime(reply: unknown): string {
  const [allowed, , ...decisions] = reply as readonly number[];
  return [allowed, ...decisions].join(' ');
}

/** Returns a pseudorandom generator with a seed; mulberry32. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
