import { TestClock } from './test-clock';

/** Number of running apps that use a clock. */
const users = new WeakMap<TestClock, number>();

/** The use of a clock by one app. The clock is installed for the process until the last running app that uses it has closed. */
export class ClockUse {
  readonly clock: TestClock;
  private isCounted = false;

  /** @param clock default: the clock that is installed, or a new one */
  constructor(clock: TestClock = TestClock.installed ?? new TestClock()) {
    this.clock = clock.install();
  }

  /** Counts the app. An app whose boot failed is not counted, since Nest does not close it. */
  begin(): void {
    this.isCounted = true;
    users.set(this.clock, (users.get(this.clock) ?? 0) + 1);
  }

  end(): void {
    const left = (users.get(this.clock) ?? 0) - (this.isCounted ? 1 : 0);
    this.isCounted = false;
    users.set(this.clock, left);
    if (left <= 0) this.clock.uninstall();
  }
}
