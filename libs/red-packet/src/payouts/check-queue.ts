/** Most activities that are checked at the same time. */
const AT_ONCE = 16;
/**
 * How many of them may be of each kind. While a master is unavailable, a check lasts until its deadline, and there may be many such
 * activities. Those that were just found are checked meanwhile, and so are those that are woken.
 */
const KINDS = { found: AT_ONCE, woken: 4, repeated: 8 };

type Kind = keyof typeof KINDS;

/** Activities to check. A check that was asked for while the activity is being checked runs after that. */
export class CheckQueue {
  /** `woken`: activities that were woken although their last check failed. `repeated`: activities that are checked again. */
  private readonly waiting = { found: new Set<string>(), woken: new Set<string>(), repeated: new Set<string>() };
  /** Activities whose last check failed. */
  private readonly failed = new Set<string>();
  private readonly running = new Map<string, Promise<void>>();
  private readonly runningOf = { found: 0, woken: 0, repeated: 0 };

  /** @param check returns false if it failed; must not reject */
  constructor(private readonly check: (activityId: string) => Promise<boolean>) {}

  /** True if no check waits or runs, and no activity's last check failed. */
  get isEmpty(): boolean {
    const { found, woken, repeated } = this.waiting;
    return found.size + woken.size + repeated.size + this.failed.size + this.running.size === 0;
  }

  /** @param isReachable true if Redis has just replied to a call for this activity */
  add(activityId: string, isReachable = false): void {
    if (isReachable) this.failed.delete(activityId);
    this.waiting[this.failed.has(activityId) ? 'woken' : 'found'].add(activityId);
    this.next();
  }

  /** Checks activities again: these, and all whose last check failed. */
  repeat(activityIds: Iterable<string>): void {
    for (const ids of [this.failed, activityIds]) for (const activityId of ids) this.waiting.repeated.add(activityId);
    this.next();
  }

  isRunning(activityId: string): boolean {
    return this.running.has(activityId);
  }

  /** Drops the checks that have not begun, and waits for the others. */
  async stop(): Promise<void> {
    for (const ids of [...Object.values(this.waiting), this.failed]) ids.clear();
    await Promise.all(this.running.values());
  }

  private next(): void {
    for (const kind of ['found', 'woken', 'repeated'] as const) {
      for (const activityId of this.waiting[kind]) {
        if (this.running.size >= AT_ONCE || this.runningOf[kind] >= KINDS[kind]) break;
        if (!this.running.has(activityId)) this.begin(activityId, kind);
      }
    }
  }

  private begin(activityId: string, kind: Kind): void {
    for (const ids of Object.values(this.waiting)) ids.delete(activityId);
    this.runningOf[kind] += 1;
    const ended = this.check(activityId).then((succeeded) => {
      this.runningOf[kind] -= 1;
      this.running.delete(activityId);
      if (succeeded) this.failed.delete(activityId);
      else this.failed.add(activityId);
      this.next();
    });
    this.running.set(activityId, ended);
  }
}
