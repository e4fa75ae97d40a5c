/**
 * How long a group counts that the notes in Redis no longer have, ms: a failover may have lost them, and the group's own
 * processes write them again within this time.
 */
const KEPT_MS = 10_000;

// See DECISIONS.md: last-group-deletes
/** The groups of a stream as this process knows them: nothing is deleted before all of them have settled it. */
export class Roster {
  private readonly seenAt = new Map<string, number>();
  /** Names, with spaces between. */
  text = '';

  /** Takes over the groups that Redis has. */
  learn(names: readonly string[]): void {
    const now = performance.now();
    for (const name of names) this.seenAt.set(name, now);
    for (const [name, at] of this.seenAt) if (now - at > KEPT_MS) this.seenAt.delete(name);
    this.write();
  }

  /** Forgets a group that was removed. */
  forget(name: string): void {
    this.seenAt.delete(name);
    this.write();
  }

  private write(): void {
    this.text = [...this.seenAt.keys()].join(' ');
  }
}
