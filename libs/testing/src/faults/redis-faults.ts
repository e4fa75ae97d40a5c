import { nextTurn } from '../../../internal/src';
import type { AppServices } from '../harness/app-services';
import type { Registries } from '../harness/registries';
import type { ArmedFaults, Fault, FaultOptions } from './faults';

/** Simulates faults of Redis in a test. The app gets the same errors as for real faults. */
export class Faults {
  constructor(
    private readonly armed: ArmedFaults,
    private readonly registries: Registries,
    private readonly services: AppServices,
  ) {}

  /** Number of faults of `nextCall` that have not happened yet. */
  get pending(): number {
    return this.armed.size;
  }

  /**
   * Makes the next call of a script fail. To make two calls fail, call `nextCall` twice. Calls that ScriptRegistry sends together, as one
   * EVALSHA, fail together, as in production.
   *
   * @param fault `not-sent`: the app gets a NotSentError, and the script does not run. `unknown`: the app gets an UnknownOutcomeError. The
   *   script runs, unless `runs` is false. If the script replies with an error, the app gets this error. `refused`: the app gets a
   *   ScriptRefusedError, as if the memory of Redis were full
   * @throws InvalidOptionError, also for a script that the app has not registered
   */
  nextCall(fault: Fault, options: FaultOptions = {}): void {
    this.armed.add(fault, options);
  }

  /**
   * Takes a lock from its holder, as `LockService.forceUnlock` does: the AbortSignal of the lock is aborted, and `withLock` throws
   * LostError. To end a lease of another lib, advance the clock.
   *
   * @param name name of the lock
   * @returns true if the lock was held
   * @throws SetupError if the app does not import LockModule, or uses a mock of LockService
   */
  async loseLease(name: string): Promise<boolean> {
    const { forced } = await this.services.get('Lock', 'faults.loseLease()').forceUnlock(name);
    return forced;
  }

  /**
   * Makes Redis unavailable: all connections close, and new connections are refused. Calls in flight get an unknown outcome. Later calls
   * are not sent: they wait for Redis until their deadline, or for at most 20 ms of real time.
   */
  async redisDown(): Promise<void> {
    this.registries.stop();
    // The clients notice in the next turn of the event loop that their connections have closed.
    await new Promise<void>((resolve) => void nextTurn(resolve));
  }

  /** Makes Redis available again, with all its keys. Resolves when all ScriptRegistries that were connected before are connected again. */
  async redisUp(): Promise<void> {
    await this.registries.start();
  }

  /** Drops the faults of `nextCall` that have not happened, without a warning. */
  clear(): void {
    this.armed.clear();
  }
}
