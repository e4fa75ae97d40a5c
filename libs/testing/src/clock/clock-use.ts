import { TestClock } from './test-clock';

/** Numbers of the apps that use a clock. */
interface Users {
  /** True if an app has installed the clock; false if the test has. */
  byApp: boolean;
  /** Number of apps that have begun `init()` and are not closed. */
  begun: number;
  /** Number of apps that have started and are not closed. */
  running: number;
}

const usersByClock = new WeakMap<TestClock, Users>();

function usersOf(clock: TestClock): Users {
  const users = usersByClock.get(clock) ?? { byApp: false, begun: 0, running: 0 };
  usersByClock.set(clock, users);
  return users;
}

/** Use of a clock by one app. The clock is installed in this process until the last app that uses it closes. */
export class ClockUse {
  readonly clock: TestClock;
  private readonly users: Users;
  private state: 'made' | 'begun' | 'running' = 'made';

  /** @param clock clock to use. Default: the clock that is installed in this process, or a new one */
  constructor(clock?: TestClock) {
    const left = TestClock.installed;
    if (left && isAbandoned(left, clock)) left.uninstall();
    this.clock = clock ?? TestClock.installed ?? new TestClock();
    this.users = usersOf(this.clock);
    this.install();
  }

  /** Call it when `init()` of the app begins. @throws Error if another clock is installed now */
  begin(): void {
    // Another app may have uninstalled the clock since this app was created.
    this.install();
    if (this.state !== 'made') return;
    this.state = 'begun';
    this.users.begun += 1;
  }

  /** Call it when the app has started. @throws Error if another clock is installed now */
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
 * Returns true if a clock belongs to an app whose start has failed. Nest does not close such an app, so its timers would fire in the next
 * test. An app that was created but not initialised has no timers. Another app can share its clock, unless it has another `wanted` clock.
 */
function isAbandoned(clock: TestClock, wanted: TestClock | undefined): boolean {
  const { byApp, begun, running } = usersOf(clock);
  if (!byApp || running > 0 || wanted === clock) return false;
  return wanted !== undefined || begun > 0;
}
