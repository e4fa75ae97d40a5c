import type { Lease } from './lease';
import { LockLostError } from './lock.errors';
import { checkInt } from './lock.options';
import type { Lock } from './lock.types';

/** One or several leases as one lock. */
export class HeldLock implements Lock {
  readonly names: readonly string[];
  readonly fence: number;
  private combined: AbortSignal | undefined;

  /** @param leases in the order of their names, at least one */
  constructor(private readonly leases: readonly Lease[]) {
    this.names = leases.map(({ name }) => name);
    this.fence = Math.max(...leases.map(({ fence }) => fence));
  }

  get signal(): AbortSignal {
    const signals = this.leases.map(({ signal }) => signal);
    if (signals.length === 1) return signals[0] as AbortSignal;
    this.combined ??= AbortSignal.any(signals);
    return this.combined;
  }

  get held(): boolean {
    return this.leases.every(({ held }) => held);
  }

  fenceOf(name: string): number {
    const lease = this.leases.find((one) => one.name === name);
    if (!lease) throw new LockLostError(`Lock ${this.names.join(', ')} does not hold ${name}.`);
    return lease.fence;
  }

  assertHeld(): void {
    for (const lease of this.leases) lease.assertHeld();
  }

  async extend(leaseMs?: number): Promise<void> {
    if (leaseMs !== undefined) checkInt('leaseMs', leaseMs, 10);
    await Promise.all(this.leases.map((lease) => lease.extend(leaseMs)));
  }

  async release(): Promise<'released' | 'lost'> {
    const outcomes = await Promise.allSettled(this.leases.map((lease) => lease.release()));
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed) throw failed.reason;
    return outcomes.every((outcome) => outcome.status === 'fulfilled' && outcome.value === 'released')
      ? 'released'
      : 'lost';
  }
}
