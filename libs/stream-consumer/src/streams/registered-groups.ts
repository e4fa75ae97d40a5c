import { time } from '../../../internal/src';

/**
 * How long this process remembers a group that Redis no longer lists, ms. A failover may have lost the name of the group. The
 * running consumers of the group write it again at their next check; a removed group should have no consumers.
 */
const KEPT_MS = 10_000;

/**
 * The groups of a stream that this process knows. A message is deleted only when all these groups have settled it.
 * See DECISIONS.md: last-group-deletes
 */
export class RegisteredGroups {
  private readonly seenAt = new Map<string, number>();
  /** Names of the groups, separated by spaces. */
  names = '';

  /** Adds groups that Redis lists, and removes groups that Redis has not listed for 10 s. */
  add(groups: readonly string[]): void {
    const now = time.monotonicMs();
    for (const name of groups) this.seenAt.set(name, now);
    for (const [name, at] of this.seenAt) if (now - at > KEPT_MS) this.seenAt.delete(name);
    this.write();
  }

  remove(name: string): void {
    this.seenAt.delete(name);
    this.write();
  }

  private write(): void {
    this.names = [...this.seenAt.keys()].join(' ');
  }
}
