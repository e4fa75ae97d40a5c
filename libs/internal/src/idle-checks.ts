import { time, type Timer } from './time';

/** Commands a second that the idle checks on one Redis send together. */
const COMMANDS_A_SECOND = 0.4;
/** Shortest pause between two checks, ms. */
const LEAST_PAUSE_MS = 1_000;

/** A check of something that may be idle. It is a safety net, because a change of it also wakes those who wait for the change. */
export interface IdleCheck {
  /** Number of commands that a check sends to Redis, with those that scripts call. */
  readonly commands: number;
  /** Never rejects. */
  check(): Promise<void>;
}

/**
 * Makes the idle checks of this process on one Redis, one after the other and again from the first, at a fixed cost. So the more there
 * are, the rarer each of them is.
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

  /** Makes each check once, now. */
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
    // The one that was checked is the last of the next round.
    this.checks.delete(check);
    this.checks.add(check);
    await check.check();
    // Others may have removed all checks meanwhile, and added new ones.
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
