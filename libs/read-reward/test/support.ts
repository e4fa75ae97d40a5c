import { once } from 'node:events';
import type { Cluster, Redis } from 'ioredis';
import { type ReadRewardModuleOptions, ReadRewardService, type RewardRule } from 'luanest/read-reward';
import {
  type ScriptDefinition,
  defineScript,
  type ScriptRegistry,
  type ScriptRegistryModuleOptions,
} from 'luanest/script-registry';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { sleep } from '../../../test/support/wait';
import { clusterClient, openRegistry, standaloneClient } from '../../script-registry/test/support';
import { resolveOptions } from '../src/read-reward.options';
import { readRewardScripts } from '../src/read-reward.scripts';

export { quiet } from '../../script-registry/test/support';

/** The two kinds of server on which each contract is checked. */
export const servers: [string, () => Redis | Cluster][] = [
  ['standalone', standaloneClient],
  ['Cluster', clusterClient],
];

export const DAY_MS = 86_400_000;

export interface Bench {
  readonly prefix: string;
  readonly registry: ScriptRegistry;
  readonly raw: Redis;
  /** A service of its own, with a memory of its own, as another process has it. */
  service(rules: Record<string, RewardRule>, more?: Omit<ReadRewardModuleOptions, 'rules'>): ReadRewardService;
  close(): void;
}

/** Lets a midnight of UTC pass that is near: what a test counts is of one day. */
async function awayFromMidnight(): Promise<void> {
  const leftMs = DAY_MS - (Date.now() % DAY_MS);
  if (leftMs < 30_000) await sleep(leftMs + 1_000);
}

export async function openBench(
  client: Redis | Cluster,
  options: ScriptRegistryModuleOptions = {},
  scripts: readonly ScriptDefinition[] = readRewardScripts,
): Promise<Bench> {
  const prefix = options.prefix ?? uniquePrefix();
  if (client.status !== 'ready') await once(client, 'ready');
  await awayFromMidnight();
  const registry = await openRegistry(client, { preload: 'required', ...options, prefix }, scripts);
  return {
    prefix,
    registry,
    raw: client as Redis,
    service: (rules, more) => new ReadRewardService(registry, resolveOptions({ rules, ...more })),
    close() {
      registry.close();
      client.disconnect();
    },
  };
}

/** A clock that a test sets, a hash next to each user's state, in place of Redis' own. */
const TEST_CLOCK = `local test_time = redis.call('HMGET', KEYS[1] .. ':clock', 's', 'us')
local test_ms = test_time[1] * 1000 + (test_time[2] - test_time[2] % 1000) / 1000
local function test_pttl(key)
  local expires = redis.call('PEXPIRETIME', key)
  return expires < 0 and expires or math.max(expires - test_ms, 0)
end
`;

/** The scripts byte for byte, but with the clock of the test. What that clock would have expired is deleted when it is set. */
const timed = readRewardScripts.map((script) => {
  const [shared = '', own] = (script as ScriptDefinition).source.split('-- @call\n') as [string, string?];
  // Calls of a group share the time of Redis. Here each user has a time.
  const reads = own !== undefined && /\bnow_ms\b/.test(shared) ? 'now_ms = test_ms\n' : '';
  const clocked = (own ?? shared)
    .replace("redis.call('PTTL', KEYS[1])", 'test_pttl(KEYS[1])')
    .replace("redis.call('TIME')", 'test_time');
  const source = `${own === undefined ? '' : `${shared}-- @call\n`}${TEST_CLOCK}${reads}${clocked}`;
  return defineScript({ ...(script as never as Parameters<typeof defineScript>[0]), source });
}) as readonly ScriptDefinition[];

/** A standalone server of the test's own, whose time a test sets for each user. */
export async function openTimed(
  client: Redis,
): Promise<Bench & { setClock(rule: string, userId: string, ms: number): Promise<void> }> {
  const bench = await openBench(client, { prefix: 'timed' }, timed);
  const { registry } = bench;
  const run = registry.run.bind(registry) as (script: ScriptDefinition, ...rest: unknown[]) => Promise<unknown>;
  const named = new Map(timed.map((script) => [script.name, script]));
  // Only what the service hands to the registry changes; the rest of it is the registry's own.
  Object.defineProperty(registry, 'run', {
    value: (script: ScriptDefinition, ...rest: unknown[]) => run(named.get(script.name) as ScriptDefinition, ...rest),
  });
  return {
    ...bench,
    async setClock(rule, userId, ms) {
      const key = registry.keySpace('read-reward').tag('s0').key('state', rule, userId);
      await bench.raw.hset(`${key}:clock`, { s: Math.floor(ms / 1_000), us: (ms % 1_000) * 1_000 });
      await bench.raw.pexpire(`${key}:clock`, 3_600_000);
      const expires = await bench.raw.pexpiretime(key);
      if (expires > 0 && expires <= ms) await bench.raw.del(key);
    },
  };
}

/** Every key under a prefix, on all masters. */
export async function keysOf(client: Redis | Cluster, prefix: string): Promise<string[]> {
  const nodes = 'nodes' in client ? client.nodes('master') : [client];
  return (await Promise.all(nodes.map((node) => node.keys(`${prefix}:*`)))).flat();
}
