import { nextTurn } from '../../../internal/src';
import type { AppServices } from '../harness/app-services';
import type { Registries } from '../harness/registries';
import type { ArmedFaults, Fault, FaultOptions } from './faults';

/** Faults of Redis that a test asks for. The app gets the errors of real faults. */
export class Faults {
  constructor(
    private readonly armed: ArmedFaults,
    private readonly registries: Registries,
    private readonly services: AppServices,
  ) {}

  /** Number of faults of `nextCall` that wait for their call. */
  get pending(): number {
    return this.armed.size;
  }

  /**
   * Makes the next call of a script fail. Each call of this method is for one call of a script. Calls that ScriptRegistry sends
   * together fail together, as in production.
   *
   * @param fault `not-sent`: NotSentError, and the script does not run. `unknown`: UnknownOutcomeError; the script runs, unless
   *   `runs` is false, and if it replies with an error, the app gets that error instead. `refused`: ScriptRefusedError, as while
   *   Redis' memory is full
   * @throws InvalidOptionError, also for a script that the app has not registered, and for an unknown ScriptRegistry
   */
  nextCall(fault: Fault, options: FaultOptions = {}): void {
    this.armed.add(fault, options);
  }

  /**
   * Takes a lock from its holder, as `LockService.forceUnlock` does: the signal of the lock fires, and `withLock` throws
   * LostError. Leases of other libs end when the clock advances.
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
   * Makes Redis unavailable: all connections close, and new ones are refused. Calls in flight have an unknown outcome. Later calls
   * are not sent: they wait for Redis until their deadline, at most 20 ms of real time.
   */
  async redisDown(): Promise<void> {
    this.registries.stop();
    // The clients notice that their connections have closed.
    await new Promise<void>((resolve) => void nextTurn(resolve));
  }

  /** Makes Redis available again with all its keys. Resolves when all ScriptRegistries that were connected are so again. */
  async redisUp(): Promise<void> {
    await this.registries.start();
  }

  /** Drops the faults of `nextCall` that have not happened, without a warning. */
  clear(): void {
    this.armed.clear();
  }
}
