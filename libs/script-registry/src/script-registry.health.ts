import type { ScriptRegistry } from './script-registry.service';

interface HealthStatus {
  readonly status: 'up' | 'down';
  /** One line for each problem that was found; only if `down`. */
  readonly problems?: readonly string[];
}

/**
 * Health indicator of a ScriptRegistry. The status is `down` if a node is unavailable, lacks scripts, or does not allow the Redis user to
 * run scripts.
 *
 * With terminus: `health.check([() => indicator.check('scripts')])`. It also works without terminus. The module provides the indicator
 * of the default ScriptRegistry. For another one, write `new ScriptRegistryHealthIndicator(registry)`.
 */
export class ScriptRegistryHealthIndicator {
  constructor(private readonly registry: ScriptRegistry) {}

  /**
   * Checks every node.
   *
   * @param key name of this check in the result
   * @param timeoutMs longest time for the check of each node, ms; integer >= 1; default 1,000
   * @throws InvalidOptionError if `timeoutMs` is invalid
   */
  async check<Key extends string>(key: Key, timeoutMs?: number): Promise<Record<Key, HealthStatus>> {
    const { healthy, problems } = await this.registry.health(timeoutMs);
    const status: HealthStatus = healthy ? { status: 'up' } : { status: 'down', problems };
    return { [key]: status } as Record<Key, HealthStatus>;
  }
}
