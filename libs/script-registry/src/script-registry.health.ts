import type { ScriptRegistry } from './script-registry.service';

/** The shape that `@nestjs/terminus` expects of an indicator; usable without it. */
export type ScriptRegistryHealthResult = Record<string, { status: 'up' | 'down'; problems?: readonly string[] }>;

/**
 * Reports whether scripts can run: down when a node is unavailable, when it answers PING but lacks scripts, and when it does
 * not let the user run scripts.
 *
 * With terminus: `health.check([() => indicator.check('scripts')])`.
 */
export class ScriptRegistryHealthIndicator {
  constructor(private readonly registry: ScriptRegistry) {}

  /**
   * Asks every node.
   *
   * @param key name of this check in the result
   * @param timeoutMs per node, ms; integer >= 1; default 1,000
   */
  async check<Key extends string>(
    key: Key,
    timeoutMs?: number,
  ): Promise<Record<Key, ScriptRegistryHealthResult[string]>> {
    const { healthy, problems } = await this.registry.health(timeoutMs);
    const result: ScriptRegistryHealthResult[string] = healthy ? { status: 'up' } : { status: 'down', problems };
    return { [key]: result } as Record<Key, ScriptRegistryHealthResult[string]>;
  }
}
