import { AsyncLocalStorage } from 'node:async_hooks';
import { unlimitedListeners, endsWithin, measuredMs } from '../../../internal/src';
import type { ScriptRegistry } from 'luanest/script-registry';
import type { Job, Work } from '../jobs/job';
import type { ResolvedScheduledLockModuleOptions } from '../scheduled-lock.options';
import type { JobStatus } from '../scheduled-lock.types';
import { Claims, type Claim, type ClaimResult, type Mode } from './claims';
import type { OutcomeLog } from './outcome-log';
import { Run } from './run';
import { runLease, type Ending } from './run-lease';
import { LockLeases } from '../../../lock/src/internal';

/**
 * Result of one call of a job: the status, and the return value if the job ran. `nothing`: a search for lost runs found none, or its claim
 * failed. `closed`: the app is shutting down.
 */
export type TickResult =
  | { readonly ran: true; readonly status: JobStatus; readonly value: unknown }
  | { readonly ran: false; readonly status: JobStatus | 'nothing' | 'closed' };

/** Longest time that a shutdown waits for Redis to release the last locks, ms. If a release fails, the lease expires. */
const LAST_REPLIES_MS = 2_000;

export class Ticks {
  private readonly context = new AsyncLocalStorage<Run>();
  private readonly open = new Set<Promise<unknown>>();
  private readonly runs = new Set<Run>();
  private readonly closing = new AbortController();
  private readonly claims: Claims;
  private readonly leases = new LockLeases();
  /** True once the shutdown has stopped waiting for runs. */
  private closed = false;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: ResolvedScheduledLockModuleOptions,
    private readonly outcomes: OutcomeLog,
  ) {
    // Each call that waits for a lock adds a listener to this AbortSignal.
    unlimitedListeners(this.closing.signal);
    this.claims = new Claims(registry, options);
  }

  current(): Run | undefined {
    return this.context.getStore();
  }

  /** Returns true if the calling code belongs to a run of this job that has not ended. */
  inside({ options: { name } }: Job): boolean {
    const run = this.context.getStore();
    return run !== undefined && run.name === name && this.runs.has(run);
  }

  /**
   * Claims and runs a job once, unless the app is shutting down.
   *
   * @throws the error of `work`; SetupError if the scheduled time is unknown
   */
  async run(job: Job, mode: Mode, work: Work): Promise<TickResult> {
    if (this.closing.signal.aborted) return { ran: false, status: 'closed' };
    const tick = this.decide(job, mode, work);
    this.open.add(tick);
    try {
      return await tick;
    } finally {
      this.open.delete(tick);
    }
  }

  /**
   * Shuts down: refuses new runs, waits up to `drainMs` for running jobs, aborts their AbortSignals, waits up to `abortGraceMs`, and
   * releases their locks. No job begins after that.
   */
  async close(): Promise<void> {
    this.closing.abort();
    await endsWithin(this.options.drainMs, Promise.allSettled(this.open));
    for (const run of this.runs) run.stop();
    await endsWithin(this.options.abortGraceMs, Promise.allSettled(this.open));
    this.closed = true;
    const releases = [...this.runs].flatMap(({ lease }) => (lease ? [lease.release()] : []));
    await endsWithin(LAST_REPLIES_MS, Promise.allSettled(releases));
  }

  private async decide(job: Job, mode: Mode, work: Work): Promise<TickResult> {
    const result = await this.claims.take(job, mode, this.closing.signal);
    if (this.closed) {
      if (result.got === 'claim')
        this.claims.giveBack(job, result.claim.owner, result.claim.slot).catch(() => undefined);
      return { ran: false, status: 'closed' };
    }
    if (result.got === 'claim') return this.underLease(job, mode, result.claim, work);
    if (result.got === 'failure') return this.withoutRedis(job, mode, result, work);
    const { status, slot } = result;
    if (status !== 'nothing') this.outcomes.record(job, { mode, status, slot }, true);
    return { ran: false, status };
  }

  private async underLease(job: Job, mode: Mode, claim: Claim, work: Work): Promise<TickResult> {
    const startedAt = measuredMs();
    let failure: { readonly error: unknown } | undefined;
    const ending = (): Ending => ({
      status: lost ? 'lost' : failure ? 'failed' : 'ran',
      durationMs: Math.round(measuredMs() - startedAt),
    });
    const lease = runLease(this.registry, this.options, job, claim, ending, this.leases);
    const run = new Run(job.options.name, claim.slot, lease);
    // If a shutdown releases the lease before the run has ended, the history must get the status `lost`.
    let lost = true;
    let value: unknown;
    // The reply to the claim may have taken longer than the lease. Then the job must not run.
    const ran = lease.held;
    try {
      if (ran) value = await this.within(run, work);
    } catch (error) {
      failure = { error };
    }
    lost = run.lost;
    const { status, durationMs } = ending();
    const released = await lease.release().catch(() => 'unknown');
    const final = released === 'lost' ? 'lost' : status;
    const { slot, fence } = claim;
    this.outcomes.record(job, { mode, status: final, slot, fence, durationMs, ...failure }, released !== 'unknown');
    if (failure) throw failure.error;
    return ran ? { ran, status: final, value } : { ran, status: final };
  }

  private async withoutRedis(
    job: Job,
    mode: Mode,
    { error, slot }: ClaimResult & { got: 'failure' },
    work: Work,
  ): Promise<TickResult> {
    if (mode === 'catch-up') return { ran: false, status: 'nothing' };
    const status = 'redis-error';
    this.outcomes.record(job, { mode, status, slot, error }, false);
    if (job.options.onRedisError === 'skip') return { ran: false, status };
    return { ran: true, status, value: await this.within(new Run(job.options.name, slot), work) };
  }

  private async within(run: Run, work: Work): Promise<unknown> {
    this.runs.add(run);
    try {
      return await this.context.run(run, async () => await work());
    } finally {
      this.runs.delete(run);
    }
  }
}
