/**
 * How long a group still counts after its notes in Redis are gone, ms: a failover may have lost them, and the processes of
 * the group write them again within this time.
 */
const KEPT_MS = 10_000;

// See DECISIONS.md: last-group-deletes
/** The groups of a stream that this process knows. A message is deleted when all of them have settled it. */
export class RegisteredGroups {
  private readonly seenAt = new Map<string, number>();
  /** The groups, separated by spaces. */
  names = '';

  /** Adds groups that Redis has, and removes those that Redis has not had for 10 s. */
  add(groups: readonly string[]): void {
    const now = performance.now();
    for (const name of groups) this.seenAt.set(name, now);
    for (const [name, at] of this.seenAt) if (now - at > KEPT_MS) this.seenAt.delete(name);
    this.write();
  }

  /** Removes a group at once. */
  remove(name: string): void {
    this.seenAt.delete(name);
    this.write();
  }

  private write(): void {
    this.names = [...this.seenAt.keys()].join(' ');
  }
}
