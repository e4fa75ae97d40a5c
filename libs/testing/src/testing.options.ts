import type { Checks, KnownOptions } from '../../internal/src';
import { TestClock } from './clock/test-clock';
import { MemoryRedis } from '../../memory-redis/src';

/** Options of LuanestTestingModule. */
export interface LuanestTestingModuleOptions {
  /**
   * Clock of the luanest modules and of the app's Redis. Default: the clock that is installed in this process, for example by
   * another app of the test; else a new one that starts at 2026-01-01T00:00:00Z.
   */
  readonly clock?: TestClock;
  /**
   * Redis of all ScriptRegistries of the app. Pass `app.get(LuanestTesting).redis` of another app to start two nodes of one app, or
   * a `new MemoryRedis({ clock })` if two registries of the app are one Redis in production. Default: a Redis for each ScriptRegistry.
   */
  readonly redis?: MemoryRedis;
  /** `forRoot` only: names of further ScriptRegistries, as `forRoot({ name })` of ScriptRegistryModule takes. Default: none. */
  readonly registries?: readonly string[];
}

const KNOWN: KnownOptions<LuanestTestingModuleOptions> = { clock: true, redis: true, registries: true };

/** Checks the options. @throws InvalidOptionError that names the option, the value and what is allowed */
export function resolveOptions(options: LuanestTestingModuleOptions, checks: Checks): LuanestTestingModuleOptions {
  checks.options('', options, KNOWN);
  const { redis, registries = [] } = options;
  let { clock } = options;
  if (clock !== undefined && !(clock instanceof TestClock)) checks.refuse('clock', clock, 'a TestClock');
  if (redis !== undefined) {
    if (!(redis instanceof MemoryRedis)) checks.refuse('redis', redis, 'a MemoryRedis');
    const clockOfRedis = redis.server.clock;
    if (!(clockOfRedis instanceof TestClock) || (clock ?? clockOfRedis) !== clockOfRedis) {
      throw checks.error(
        'redis has another clock than the app. Make it with new MemoryRedis({ clock }), with the same TestClock.',
      );
    }
    clock = clockOfRedis;
  }
  if (!Array.isArray(registries)) checks.refuse('registries', registries, 'an array of names');
  for (const name of registries as readonly unknown[])
    checks.text('registries', name, /^[^]+$/, 'names that are not empty');
  return { clock, redis, registries };
}
