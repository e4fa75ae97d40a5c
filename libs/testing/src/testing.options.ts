import type { Checks, KnownOptions } from '../../internal/src';
import { TestClock } from './clock/test-clock';
import { MemoryRedis } from '../../memory-redis/src';

/** Options of LuanestTestingModule. */
export interface LuanestTestingModuleOptions {
  /**
   * In-memory Redis for all ScriptRegistries of the app. Create it with a TestClock; this becomes the clock of the app. To test two nodes
   * of one app, pass `app.get(LuanestTesting).redis` of the first node to the second one. If two registries use the same Redis in
   * production, pass a `new MemoryRedis({ clock })`. Default: one Redis for each ScriptRegistry. Their clock is the TestClock that is
   * installed in this process, or a new one that starts at 2026-01-01T00:00:00Z.
   */
  readonly redis?: MemoryRedis;
  /** Names of further ScriptRegistries, as in `ScriptRegistryModule.forRoot({ name })`. Only for `forRoot`. Default: none. */
  readonly registries?: readonly string[];
}

const KNOWN: KnownOptions<LuanestTestingModuleOptions> = { redis: true, registries: true };

/** Checks the options. @throws InvalidOptionError that names the option, its value and the allowed values */
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
    checks.text('registries', name, /^[^]+$/, 'a name of at least 1 character');
  return { redis, registries };
}
