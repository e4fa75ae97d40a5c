import { time, type Timer } from './time';

/** All idle checks of a process on one Redis together send at most this many commands a second. */
const COMMANDS_A_SECOND = 0.4;
/** Shortest pause between two idle checks, ms. */
const LEAST_PAUSE_MS = 1_000;

/**
 * Asks Redis if something idle has changed, such as an empty queue. Each change also wakes the code that waits for it, so an idle check is
 * only a safety net for lost wake-ups.
 */
export interface IdleCheck {
  /** Cost of one check: the number of commands that Redis runs, including those that a script calls. */
  readonly commands: number;
  /** Makes the check once. Never rejects. */
  check(): Promise<void>;
}

/**
 * Makes the idle checks of this process on one Redis, one after the other, in a loop. All checks share a fixed number of commands per
 * second, so each check is made less often if there are more checks.
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
    // The check moves to the end of the set, so that all other checks come before its next turn.
    this.checks.delete(check);
    this.checks.add(check);
    await check.check();
    // While this check ran, other code may have removed all checks and started a new timer for new ones.
    if (this.timer === timer) this.next(check.commands);
  }
}

const byRegistry = new WeakMap<object, IdleChecks>();

/** Returns the idle checks that all libs share for this ScriptRegistry. */
export function idleChecksOf(registry: object): IdleChecks {
  const known = byRegistry.get(registry) ?? new IdleChecks();
  byRegistry.set(registry, known);
  return known;
}
