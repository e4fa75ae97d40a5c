import { time, type Timer } from './time';

/** Commands a second that all idle checks on one Redis send together, at most. */
const COMMANDS_A_SECOND = 0.4;
/** Shortest pause between two idle checks, ms. */
const LEAST_PAUSE_MS = 1_000;

/**
 * Idle check: asks Redis if something that is idle has changed, such as an empty queue. It is only a safety net, because each change also
 * wakes the code that waits for it.
 */
export interface IdleCheck {
  /** Number of commands that one check runs in Redis, including the commands that its scripts call. */
  readonly commands: number;
  /** Makes the check once. Never rejects. */
  check(): Promise<void>;
}

/**
 * Makes the idle checks of this process on one Redis, one after the other; after the last one, begins again with the first. All checks
 * together may send only a fixed number of commands a second. So if there are more checks, each of them is made less often.
 * See DECISIONS.md: idle-checks-share-a-budget
 */
export class IdleChecks {
  private readonly checks = new Set<IdleCheck>();
  private timer: Timer | undefined;

  add(check: IdleCheck): void {
    this.checks.add(check);
    if (this.timer === undefined) this.next(check.commands * Math.random());
  }

  remove(check: IdleCheck): void {
    this.checks.delete(check);
    if (this.checks.size > 0) return;
    time.clearTimer(this.timer);
    this.timer = undefined;
  }

  /** Makes all checks once, now. */
  async checkAll(): Promise<void> {
    for (const check of [...this.checks]) await check.check();
  }

  private next(commands: number): void {
    const pauseMs = Math.max(LEAST_PAUSE_MS, (commands / COMMANDS_A_SECOND) * 1_000);
    const timer = time.setTimer(() => void this.checkOne(timer), pauseMs);
    timer.unref();
    this.timer = timer;
  }

  private async checkOne(timer: Timer): Promise<void> {
    const [check] = this.checks;
    if (!check) return;
    // This check moves to the end of the set, so that all others are made before it is made again.
    this.checks.delete(check);
    this.checks.add(check);
    await check.check();
    // Meanwhile, other code may have removed all checks, and added new ones with a new timer.
    if (this.timer === timer) this.next(check.commands);
  }
}

const byRegistry = new WeakMap<object, IdleChecks>();

/** Returns the idle checks of all libs that use this ScriptRegistry. */
export function idleChecksOf(registry: object): IdleChecks {
  const known = byRegistry.get(registry) ?? new IdleChecks();
  byRegistry.set(registry, known);
  return known;
}
