import type { Checks, KnownOptions } from '../../internal/src';
import { TestClock } from './clock/test-clock';
import { MemoryRedis } from '../../memory-redis/src';

/** Options of LuanestTestingModule. */
export interface LuanestTestingModuleOptions {
  /**
   * Redis of all ScriptRegistries of the app, made with a TestClock, which is then the clock of the app. Pass
   * `app.get(LuanestTesting).redis` of another app to start two nodes of one app, or a `new MemoryRedis({ clock })` if two registries
   * of the app are one Redis in production. Default: a Redis for each ScriptRegistry, with the clock that is installed in this process,
   * or else a new one that starts at 2026-01-01T00:00:00Z.
   */
  readonly redis?: MemoryRedis;
  /** `forRoot` only: names of further ScriptRegistries, as `forRoot({ name })` of ScriptRegistryModule takes. Default: none. */
  readonly registries?: readonly string[];
}

const KNOWN: KnownOptions<LuanestTestingModuleOptions> = { redis: true, registries: true };

/** Checks the options. @throws InvalidOptionError that names the option, the value and what is allowed */
export function resolveOptions(options: LuanestTestingModuleOptions, checks: Checks): LuanestTestingModuleOptions {
  checks.options('', options, KNOWN);
  const { redis, registries = [] } = options;
  if (redis !== undefined) {
    if (!(redis instanceof MemoryRedis)) checks.refuse('redis', redis, 'a MemoryRedis');
    if (!(redis.server.clock instanceof TestClock)) {
      throw checks.error('redis has no TestClock. Make it with new MemoryRedis({ clock: new TestClock() }).');
    }
  }
  if (!Array.isArray(registries)) checks.refuse('registries', registries, 'an array of names');
  for (const name of registries as readonly unknown[])
    checks.text('registries', name, /^[^]+$/, 'names that are not empty');
  return { redis, registries };
}
