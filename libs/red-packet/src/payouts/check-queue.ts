/** Most activities that are checked at the same time. If some are on an unavailable master, others are checked meanwhile. */
const AT_ONCE = 16;

/** Activities to check. A check that was asked for while the activity is being checked runs after that. */
export class CheckQueue {
  private readonly waiting = new Set<string>();
  private readonly running = new Map<string, Promise<void>>();

  /** @param check must not reject */
  constructor(private readonly check: (activityId: string) => Promise<void>) {}

  get isEmpty(): boolean {
    return this.waiting.size + this.running.size === 0;
  }

  add(activityId: string): void {
    this.waiting.add(activityId);
    this.next();
  }

  isRunning(activityId: string): boolean {
    return this.running.has(activityId);
  }

  /** Drops the checks that have not begun, and waits for the others. */
  async stop(): Promise<void> {
    this.waiting.clear();
    await Promise.all(this.running.values());
  }

  private next(): void {
    for (const activityId of this.waiting) {
      if (this.running.size >= AT_ONCE) return;
      if (this.running.has(activityId)) continue;
      this.waiting.delete(activityId);
      const ended = this.check(activityId).then(() => {
        this.running.delete(activityId);
        this.next();
      });
      this.running.set(activityId, ended);
    }
  }
}
