import { time } from '../../../internal/src';

/**
 * The groups of a stream that this process knows. A message is deleted only when all these groups have settled it.
 * See DECISIONS.md: last-group-deletes
 */
export class RegisteredGroups {
  /** For each group, since when replies of Redis have not listed it; undefined if the last one listed it. */
  private readonly missingSince = new Map<string, number | undefined>();
  /** Names of the groups, separated by spaces. */
  names = '';

  /**
   * @param keptMs how long a group is kept that Redis no longer lists, ms. A failover may have lost its name. Its running
   *   consumers write the name again at their next check; a removed group should have no consumers
   */
  constructor(private readonly keptMs: number) {}

  /** Adds groups that Redis lists, and removes groups that Redis has not listed for longer than `keptMs`. */
  add(groups: readonly string[]): void {
    const now = time.monotonicMs();
    for (const [name, since = now] of this.missingSince) {
      if (now - since > this.keptMs) this.missingSince.delete(name);
      else this.missingSince.set(name, since);
    }
    for (const name of groups) this.missingSince.set(name, undefined);
    this.write();
  }

  remove(name: string): void {
    this.missingSince.delete(name);
    this.write();
  }

  private write(): void {
    this.names = [...this.missingSince.keys()].join(' ');
  }
}
