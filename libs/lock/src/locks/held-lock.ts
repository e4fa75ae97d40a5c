import { Logger } from '@nestjs/common';
import { NotSentError, ScriptRefusedError, UnknownOutcomeError } from 'luanest/script-registry';
import {
  Checks,
  Lease,
  LeaseBook,
  LostError,
  oneLine,
  shown,
  time,
  unlimitedListeners,
  type LossCause,
} from '../../../internal/src';
import { events } from '../lock.events';
import type { Lock } from '../lock.types';

/**
 * Result of a release. `unknown`: the release was sent twice after a lost reply, and another owner had the lock by then. Most probably the
 * first copy has released it.
 */
export type Released = 'released' | 'lost' | 'unknown';

export interface LeasePort {
  /** Starts the lease in Redis again, with the length `leaseMs`. Returns false if the lease is lost. Takes at most `deadlineMs`. */
  renew(leaseMs: number, deadlineMs: number): Promise<boolean>;
  /** Ends the lease in Redis. */
  release(): Promise<Released>;
}

const checks = new Checks('Lock.extend');

const ENDED = 'the lease ended';
const GONE = 'at a renewal, Redis had no lease of this holder any more';
/** Maximum number of lost locks that are logged within `LOG_MS`. */
const LOGGED = 20;
const LOG_MS = 10_000;

/** Lease of the lock on one name, or of the lock of one scheduled job. */
export class LockLease extends Lease {
  /** True once the caller has the lock. With several names, this is when the last one is acquired. */
  handedOut = false;
  /** Reason in the LostError of this lease. */
  private lossReason = '';
  private lost = false;
  private releasing: Promise<Released> | undefined;

  /**
   * Creates a lease, and adds it to `leases`.
   *
   * @param name name of the lock or the scheduled job, for messages and events
   * @param sentAt time at which the acquisition was sent, by `time.monotonicMs()`
   * @param renews true to renew the lease until its release or end
   */
  constructor(
    readonly name: string,
    readonly fence: number,
    sentAt: number,
    leaseMs: number,
    renews: boolean,
    readonly port: LeasePort,
    private readonly leases: LockLeases,
  ) {
    super(sentAt, leaseMs, renews);
    leases.add(this);
  }

  override lossOf(cause: LossCause): LostError {
    if (cause === 'settled')
      return new LostError(
        `Lock ${this.name} is no longer held, because its release has begun. Write nothing more under it.`,
      );
    return this.because(cause === 'redis' ? GONE : ENDED);
  }

  /** Renews the lease at once, with `leaseMs` from now. See `LeaseBook.extend`. */
  extend(leaseMs?: number): Promise<void> {
    return this.leases.extend(this, leaseMs);
  }

  /** Ends the lease in this process, and aborts its AbortSignal. Does not call Redis. @param reason text such as `the lease ended` */
  loseBecause(reason: string): void {
    this.lose(this.because(reason));
  }

  /** Aborts the AbortSignal. The lease is still renewed, because the work under it may need a moment to end. */
  revoke(reason: string): void {
    this.abort(this.because(reason));
  }

  override lose(error: LostError): void {
    if (this.over || this.settling) return;
    super.lose(error);
    this.leases.remove(this);
    this.leases.logLoss(this.name, this.lossReason);
  }

  /**
   * Stops the renewal, waits for a renewal in flight, and ends the lease in Redis. Further calls return the first result.
   *
   * @throws the errors of ScriptRegistry.run() if Redis fails; the lease then ends at the latest after `leaseMs`
   */
  release(): Promise<Released> {
    this.releasing ??= this.end();
    return this.releasing;
  }

  protected override aborted(): void {
    this.lost = true;
    const reason = this.lossReason;
    events.lockLost.publish(() => ({ ...this.summary, reason }), this.leases.registry);
  }

  private get summary(): { readonly name: string; readonly fence: number; readonly heldMs: number } {
    return { name: this.name, fence: this.fence, heldMs: time.monotonicMs() - this.sentAt };
  }

  private because(reason: string): LostError {
    this.lossReason = reason;
    return new LostError(
      `Lock ${this.name} (fencing token ${this.fence}) is lost: ${reason}. Another process may hold the lock now, so stop the work ` +
        'under it, and write nothing more.',
    );
  }

  private end(): Promise<Released> {
    this.check();
    const renewal = this.settle();
    return renewal === undefined ? this.giveUp() : renewal.catch(() => undefined).then(() => this.giveUp());
  }

  // The lease stays in `leases` until Redis has replied or the call has failed, because a shutdown must wait for that.
  private giveUp(): Promise<Released> {
    return this.port.release().then(
      (released) => {
        this.leases.remove(this);
        return this.lost ? 'lost' : this.report(released);
      },
      (error: unknown) => {
        this.leases.remove(this);
        throw error;
      },
    );
  }

  private report(released: Released): Released {
    if (released !== 'lost') {
      events.lockReleased.publish(() => this.summary, this.leases.registry);
      return released;
    }
    const reason = 'at its release, Redis had no lease of this holder any more';
    events.lockLost.publish(() => ({ ...this.summary, reason }), this.leases.registry);
    this.leases.logLoss(this.name, reason);
    return released;
  }
}

/** All leases of one service, also those that are being released. */
export class LockLeases extends LeaseBook<LockLease> {
  private readonly logger = new Logger('LockService');
  private logSince = -Infinity;
  private logged = 0;

  /** @param registry ScriptRegistry of the app, for events */
  constructor(readonly registry?: object) {
    super({
      renew: async (batch, deadlineMs) => {
        const { port, leaseMs } = batch[0] as LockLease;
        return (await port.renew(leaseMs, deadlineMs)) ? [] : batch;
      },
      renewalFailed: ([lease], error) => {
        events.callFailed.publish(() => ({ name: (lease as LockLease).name, during: 'renew', error }));
      },
    });
  }

  /**
   * Logs that a lock is lost, because the app may not look at the lock's AbortSignal. Logs at most 20 lines in 10 s; each loss is also
   * published as an event.
   */
  logLoss(name: string, reason: string): void {
    const now = time.monotonicMs();
    if (now - this.logSince >= LOG_MS) {
      this.logSince = now;
      this.logged = 0;
    }
    this.logged += 1;
    if (this.logged > LOGGED) return;
    const last = this.logged === LOGGED ? ' Further lost locks are not logged for up to 10 s.' : '';
    this.logger.warn(
      oneLine(
        `Lock ${name} was lost before its release: ${reason}. Another process may have had the lock while the work ran.${last}`,
      ),
    );
  }
}

/** Lock on one or several names, with a lease for each. */
export class HeldLock implements Lock {
  private combined: AbortSignal | undefined;

  /** @param leases at least one, sorted by name */
  constructor(private readonly leases: readonly [LockLease, ...LockLease[]]) {
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
    if (!lease)
      throw new LostError(
        `fenceOf(): This lock has the names ${this.names.join(', ')}, but not ${shown(name)}. Pass one of its names.`,
      );
    return lease.fence;
  }

  assertHeld(): void {
    for (const lease of this.leases) lease.assertHeld();
  }

  async extend(leaseMs?: number): Promise<void> {
    if (leaseMs !== undefined) checks.integer('leaseMs', leaseMs, 10);
    await Promise.all(this.leases.map((lease) => lease.extend(leaseMs)));
  }

  release(): Promise<Released> {
    return this.leases.length === 1 ? this.leases[0].release() : this.releaseAll();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if ((await releaseAndReport(this)) === 'lost') throw lostDuringWork(this);
  }

  private async releaseAll(): Promise<Released> {
    const outcomes = await Promise.allSettled(this.leases.map((lease) => lease.release()));
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed) throw failed.reason;
    const all = outcomes.map((outcome) => (outcome as PromiseFulfilledResult<Released>).value);
    return all.find((one) => one === 'lost') ?? all.find((one) => one === 'unknown') ?? 'released';
  }
}

/**
 * Releases a lock. A failure is published as an event instead of being thrown. Returns `unknown` if the lock may still be held or the reply
 * was lost; `lost` if the lock was lost before its release, or if the script failed, for example because another program overwrote the key.
 */
export async function releaseAndReport(lock: Lock): Promise<Released> {
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
    `Lock ${lock.names.join(', ')} was lost before its release, so a part of the work may have run without the lock, at the same time ` +
      'as the work of another process. Check what the work wrote, or raise leaseMs.',
  );
}
