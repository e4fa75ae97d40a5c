/** Most activities that are checked at the same time. */
const AT_ONCE = 16;
/**
 * How many of them may be repeats. While a master is unavailable, a check lasts until its deadline, and there may be many such
 * activities. Those that were just found are checked meanwhile.
 */
const REPEATS_AT_ONCE = 8;

/** Activities to check. A check that was asked for while the activity is being checked runs after that. */
export class CheckQueue {
  private readonly waiting = new Set<string>();
  /** Activities that are checked again, when fewer than REPEATS_AT_ONCE of them are being checked. */
  private readonly repeats = new Set<string>();
  /** Activities whose last check failed. */
  private readonly failed = new Set<string>();
  private readonly running = new Map<string, Promise<void>>();
  private runningRepeats = 0;

  /** @param check returns false if it failed; must not reject */
  constructor(private readonly check: (activityId: string) => Promise<boolean>) {}

  /** True if no activity is to be checked, and no last check failed. */
  get isEmpty(): boolean {
    return this.waiting.size + this.repeats.size + this.failed.size + this.running.size === 0;
  }

  add(activityId: string): void {
    (this.failed.has(activityId) ? this.repeats : this.waiting).add(activityId);
    this.next();
  }

  /** Checks activities again: these, and all whose last check failed. */
  repeat(activityIds: Iterable<string>): void {
    for (const ids of [this.failed, activityIds]) for (const activityId of ids) this.repeats.add(activityId);
    this.next();
  }

  isRunning(activityId: string): boolean {
    return this.running.has(activityId);
  }

  /** Drops the checks that have not begun, and waits for the others. */
  async stop(): Promise<void> {
    for (const ids of [this.waiting, this.repeats, this.failed]) ids.clear();
    await Promise.all(this.running.values());
  }

  private next(): void {
    for (const activityId of this.waiting) {
      if (this.running.size >= AT_ONCE) return;
      if (!this.running.has(activityId)) this.begin(activityId, 0);
    }
    for (const activityId of this.repeats) {
      if (this.running.size >= AT_ONCE || this.runningRepeats >= REPEATS_AT_ONCE) return;
      if (!this.running.has(activityId)) this.begin(activityId, 1);
    }
  }

  /** @param repeats 1 if this check is a repeat, otherwise 0 */
  private begin(activityId: string, repeats: number): void {
    this.waiting.delete(activityId);
    this.repeats.delete(activityId);
    this.runningRepeats += repeats;
    const ended = this.check(activityId).then((succeeded) => {
      this.runningRepeats -= repeats;
      this.running.delete(activityId);
      if (succeeded) this.failed.delete(activityId);
      else this.failed.add(activityId);
      this.next();
    });
    this.running.set(activityId, ended);
  }
}
