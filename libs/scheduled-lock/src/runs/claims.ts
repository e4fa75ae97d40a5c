import { UniqueIds, pause, time } from '../../../internal/src';
import { NotReplicatedError, type ScriptRegistry, UnknownOutcomeError } from 'luanest/script-registry';
import type { Job, JobKind } from '../jobs/job';
import type { ResolvedScheduledLockModuleOptions } from '../scheduled-lock.options';
import { claimRun, completeRun, type ClaimReply } from '../scheduled-lock.scripts';

/**
 * Kind of a claim, by which a node asks Redis for the right to run a job. `tick`: for a scheduled time. `catch-up`: for the scheduled time
 * of a lost run, to repeat it. `free`: for no scheduled time, such as a run by hand.
 */
export type Mode = 'tick' | 'catch-up' | 'free';

/** A claim that Redis has granted, so that this process may run the job now. */
export interface Claim {
  readonly owner: string;
  readonly slot: number;
  readonly fence: number;
  /** Time at which the claim was sent, by `time.monotonicMs()`. */
  readonly sentAt: number;
}

export type ClaimResult =
  | { readonly got: 'claim'; readonly claim: Claim }
  | { readonly got: 'refusal'; readonly status: Exclude<ClaimReply['status'], 'ran'>; readonly slot: number }
  | { readonly got: 'failure'; readonly error: unknown; readonly slot: number };

const FIRST_PAUSE_MS = 5;

/**
 * Returns the scheduled time to claim, ms since 1970. 1 for `@Timeout`. 0 for `@Interval`: the claim script finds the current period by
 * Redis' clock.
 */
function slotNow(kind: JobKind): number | Promise<number> {
  if (kind.type === 'cron') return kind.live.slotNow();
  return kind.type === 'timeout' ? 1 : 0;
}

export class Claims {
  private readonly ids = new UniqueIds();

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: ResolvedScheduledLockModuleOptions,
  ) {}

  /**
   * Asks Redis for the right to run a job. If another run holds the lock when an `@Interval` fires, tries again until the period ends.
   * See DECISIONS.md: interval-tick-retries-in-its-period
   *
   * @param closing AbortSignal that ends the attempts
   */
  async take(job: Job, mode: Mode, closing: AbortSignal): Promise<ClaimResult> {
    const owner = `${this.options.node}#${this.ids.next()}`;
    const { kind } = job;
    let slot = mode === 'tick' ? await slotNow(kind) : 0;
    const longestMs = kind.type === 'interval' ? Math.max(FIRST_PAUSE_MS, kind.periodMs / 10) : 0;
    try {
      for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, longestMs)) {
        const sentAt = time.monotonicMs();
        const { status, fence, leftMs, ...reply } = await this.send(job, owner, mode, slot);
        slot = reply.slot;
        if (status === 'ran') return { got: 'claim', claim: { owner, slot, fence, sentAt } };
        const jittered = Math.min(leftMs, pauseMs * (0.75 + Math.random() / 2));
        if (leftMs > 0) await pause(jittered, { signal: closing });
        if (leftMs === 0 || closing.aborted) return { got: 'refusal', status, slot };
      }
    } catch (error) {
      // Redis may have granted the claim, or may do so later. No run would use it, so it is given back.
      const maybeClaimed = error instanceof UnknownOutcomeError || error instanceof NotReplicatedError;
      if (maybeClaimed) void this.giveBack(job, owner, slot).catch(() => undefined);
      return { got: 'failure', error, slot };
    }
  }

  private async send({ options, kind, state, history, retentionMs }: Job, owner: string, mode: Mode, slot: number) {
    const { node, historySize: keep, deadlineMs, replicas, replicasTimeoutMs: timeoutMs, staleAfterMs } = this.options;
    const { leaseMs } = options;
    const periodMs = kind.type === 'interval' ? kind.periodMs : 0;
    const staleMs = mode === 'catch-up' ? options.catchUpWithinMs : kind.type === 'cron' ? staleAfterMs : 0;
    const args = { owner, node, mode, slot, periodMs, staleMs, leaseMs, retentionMs, keep };
    const input = { keys: { state, history }, args };
    if (replicas === 0) return this.registry.run(claimRun, input, { deadlineMs });
    const waits = { replicas, timeoutMs, deadlineMs: deadlineMs + timeoutMs };
    const { result, replicas: copies } = await this.registry.runAndWait(claimRun, input, waits);
    if (result.status !== 'ran' || copies >= replicas) return result;
    throw new NotReplicatedError(
      `Job ${options.name}: The claim of this run reached ${copies} of ${replicas} replicas within replicasTimeoutMs (${timeoutMs} ms), ` +
        'so the run is not protected by a lock. Check that the replicas are connected and do not lag.',
      'claim',
      copies,
      replicas,
    );
  }

  /**
   * Gives back a claim that no run uses, so that the scheduled time can be claimed again.
   * See DECISIONS.md: unused-claim-is-given-back
   */
  giveBack({ state, history, retentionMs }: Job, owner: string, slot: number): Promise<unknown> {
    const { node, historySize: keep } = this.options;
    const nothing = { status: 'redis-error', durationMs: 0, atLeastMs: 0, slot, fence: 0 };
    return this.registry.run(completeRun, {
      keys: { state, history },
      args: { owner, node, retentionMs, keep, ...nothing },
    });
  }
}
