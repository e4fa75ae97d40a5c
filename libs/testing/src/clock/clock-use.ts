import { TestClock } from './test-clock';

/** Apps that use a clock. */
interface Users {
  /** True if an app has installed the clock, not the test. */
  byApp: boolean;
  /** Apps whose `init()` has begun, and that have not closed. */
  begun: number;
  /** Apps that use the clock and have booted. */
  running: number;
}

const usersByClock = new WeakMap<TestClock, Users>();

function usersOf(clock: TestClock): Users {
  const users = usersByClock.get(clock) ?? { byApp: false, begun: 0, running: 0 };
  usersByClock.set(clock, users);
  return users;
}

/** The use of a clock by one app. The clock is installed for the process until the last running app that uses it has closed. */
export class ClockUse {
  readonly clock: TestClock;
  private readonly users: Users;
  private state: 'made' | 'begun' | 'running' = 'made';

  /** @param clock default: the clock that is installed, or a new one */
  constructor(clock?: TestClock) {
    const left = TestClock.installed;
    if (left && isAbandoned(left, clock)) left.uninstall();
    this.clock = clock ?? TestClock.installed ?? new TestClock();
    this.users = usersOf(this.clock);
    this.install();
  }

  /** Counts the app as one whose `init()` has begun. @throws Error if another app has replaced the clock meanwhile */
  begin(): void {
    // The last running app may have closed since this one was made, and uninstalled the clock.
    this.install();
    if (this.state !== 'made') return;
    this.state = 'begun';
    this.users.begun += 1;
  }

  /** Counts the app as one that has booted. @throws Error if another app has replaced the clock meanwhile */
  run(): void {
    this.install();
    if (this.state !== 'begun') return;
    this.state = 'running';
    this.users.running += 1;
  }

  end(): void {
    if (this.state === 'running') this.users.running -= 1;
    if (this.state !== 'made') this.users.begun -= 1;
    this.state = 'made';
    if (this.users.begun === 0) this.clock.uninstall();
  }

  private install(): void {
    if (TestClock.installed !== this.clock) this.users.byApp = true;
    this.clock.install();
  }
}

/**
 * Returns true if a clock was left by an app whose boot failed: Nest does not close such an app, and its timers would fire in the
 * next test. An app that is made but not initialised has no timers, so the next app can share its clock.
 */
function isAbandoned(clock: TestClock, wanted: TestClock | undefined): boolean {
  const { byApp, begun, running } = usersOf(clock);
  if (!byApp || running > 0 || wanted === clock) return false;
  return wanted !== undefined || begun > 0;
}
