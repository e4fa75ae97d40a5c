import type { ScriptRegistry } from './script-registry.service';

/** Result of the health indicator, in the form that `@nestjs/terminus` expects. It can be used without terminus. */
export type ScriptRegistryHealthResult = Record<string, { status: 'up' | 'down'; problems?: readonly string[] }>;

/**
 * Health indicator of a registry. It is down if a node is unavailable, if a node replies to PING but lacks scripts, or if a
 * node does not let the user run scripts.
 *
 * With terminus: `health.check([() => indicator.check('scripts')])`.
 */
export class ScriptRegistryHealthIndicator {
  constructor(private readonly registry: ScriptRegistry) {}

  /**
   * Checks every node.
   *
   * @param key name of this check in the result
   * @param timeoutMs for each node, ms; integer >= 1; default 1,000
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
