import { NotSentError, ScriptRefusedError, UnknownOutcomeError } from 'luanest/script-registry';
import { Checks, shown, unlimitedListeners, LostError } from '../../../internal/src';
import { events } from '../lock.events';
import type { Lock } from '../lock.types';
import type { Lease } from './lease';

const checks = new Checks('Lock.extend');

/** Lock of one or several names, with one lease for each name. */
export class HeldLock implements Lock {
  private combined: AbortSignal | undefined;

  /** @param leases in the order of their names, at least one */
  constructor(private readonly leases: readonly [Lease, ...Lease[]]) {
    for (const lease of leases) lease.handedOut = true;
  }

  get names(): readonly string[] {
    return this.leases.map(({ name }) => name);
  }

  get fence(): number {
    return Math.max(...this.leases.map(({ fence }) => fence));
  }

  get signal(): AbortSignal {
    if (this.leases.length === 1) return this.leases[0].signal;
    this.combined ??= unlimitedListeners(AbortSignal.any(this.leases.map(({ signal }) => signal)));
    return this.combined;
  }

  get held(): boolean {
    return this.leases.every(({ held }) => held);
  }

  fenceOf(name: string): number {
    const lease = this.leases.find((one) => one.name === name);
    if (!lease) throw new LostError(`The lock of ${this.names.join(', ')} does not include the name ${shown(name)}.`);
    return lease.fence;
  }

  assertHeld(): void {
    for (const lease of this.leases) lease.assertHeld();
  }

  async extend(leaseMs?: number): Promise<void> {
    if (leaseMs !== undefined) checks.integer('leaseMs', leaseMs, 10);
    await Promise.all(this.leases.map((lease) => lease.extend(leaseMs)));
  }

  release(): Promise<'released' | 'lost'> {
    return this.leases.length === 1 ? this.leases[0].release() : this.releaseAll();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if ((await releaseAndReport(this)) === 'lost') throw lostDuringWork(this);
  }

  private async releaseAll(): Promise<'released' | 'lost'> {
    const outcomes = await Promise.allSettled(this.leases.map((lease) => lease.release()));
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed) throw failed.reason;
    return outcomes.every((outcome) => outcome.status === 'fulfilled' && outcome.value === 'released')
      ? 'released'
      : 'lost';
  }
}

/**
 * Releases a lock. If this fails, publishes the error instead of throwing it. Returns `unknown` if the script may not have run,
 * so the lock may still be held; `lost` if the lock was lost before, or the script failed, for example because another program
 * overwrote the key.
 */
export async function releaseAndReport(lock: Lock): Promise<'released' | 'lost' | 'unknown'> {
  try {
    return await lock.release();
  } catch (error) {
    events.callFailed.publish(() => ({ name: lock.names.join(', '), during: 'release', error }));
    const hadNoEffect = error instanceof NotSentError || error instanceof ScriptRefusedError;
    return hadNoEffect || error instanceof UnknownOutcomeError ? 'unknown' : 'lost';
  }
}

export function lostDuringWork(lock: Lock): LostError {
  return new LostError(
    `Lock ${lock.names.join(', ')} was lost before its release, so the work may have continued without it.`,
  );
}
