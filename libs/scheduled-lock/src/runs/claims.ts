import { UniqueIds } from '../../../internal/src';
import { setTimeout as sleep } from 'node:timers/promises';
import { LockNotReplicatedError } from 'luanest/lock';
import { type ScriptRegistry, UnknownOutcomeError } from 'luanest/script-registry';
import type { Job, JobKind } from '../jobs/job';
import type { ResolvedScheduledLockModuleOptions } from '../scheduled-lock.options';
import { claimRun, completeRun, type ClaimAnswer } from '../scheduled-lock.scripts';

/** `tick` is bound to a slot, `catch-up` takes the slot of a run that died, `free` takes the lock and has no slot. */
export type Mode = 'tick' | 'catch-up' | 'free';

/** The right to run. */
export interface Claim {
  readonly owner: string;
  readonly slot: number;
  readonly fence: number;
  /** `performance.now()` from before it was sent. */
  readonly sentAt: number;
}

/** What became of a claim. */
export type ClaimResult =
  | { readonly got: 'claim'; readonly claim: Claim }
  | { readonly got: 'refusal'; readonly outcome: Exclude<ClaimAnswer['outcome'], 'ran'>; readonly slot: number }
  | { readonly got: 'failure'; readonly error: unknown; readonly slot: number };

const FIRST_PAUSE_MS = 5;

/** 0 lets the script take the period of Redis' time. */
function slotNow(kind: JobKind): number | Promise<number> {
  if (kind.type === 'cron') return kind.live.slotNow();
  return kind.type === 'timeout' ? 1 : 0;
}

/** Claims slots in Redis. */
export class Claims {
  private readonly ids = new UniqueIds();

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: ResolvedScheduledLockModuleOptions,
  ) {}

  /**
   * One claim; of an interval that meets the run of the period before, several, while its own period lasts.
   * See DECISIONS.md: interval-tick-retries-in-its-period
   *
   * @param closing ends the waiting
   */
  async take(job: Job, mode: Mode, closing: AbortSignal): Promise<ClaimResult> {
    const owner = `${this.options.node}#${this.ids.next()}`;
    const { kind } = job;
    let slot = mode === 'tick' ? await slotNow(kind) : 0;
    const longestMs = kind.type === 'interval' ? Math.max(FIRST_PAUSE_MS, kind.periodMs / 10) : 0;
    try {
      for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, longestMs)) {
        const sentAt = performance.now();
        const { outcome, fence, leftMs, ...answer } = await this.send(job, owner, mode, slot);
        slot = answer.slot;
        if (outcome === 'ran') return { got: 'claim', claim: { owner, slot, fence, sentAt } };
        const jittered = Math.min(leftMs, pauseMs * (0.75 + Math.random() / 2));
        if (leftMs > 0) await sleep(jittered, undefined, { signal: closing }).catch(() => undefined);
        if (leftMs === 0 || closing.aborted) return { got: 'refusal', outcome, slot };
      }
    } catch (error) {
      // The claim may be in force, or come to be, and nobody would hold its lock.
      const maybeClaimed = error instanceof UnknownOutcomeError || error instanceof LockNotReplicatedError;
      if (maybeClaimed) void this.giveBack(job, owner, slot).catch(() => undefined);
      return { got: 'failure', error, slot };
    }
  }

  private async send({ options, kind, state, history }: Job, owner: string, mode: Mode, slot: number) {
    const { node, retentionMs, historySize: keep, redisTimeoutMs } = this.options;
    const { leaseMs, replicas, replicasTimeoutMs: timeoutMs } = options;
    const periodMs = kind.type === 'interval' ? kind.periodMs : 0;
    const staleMs = mode === 'catch-up' ? options.catchUpWithinMs : kind.type === 'cron' ? options.staleAfterMs : 0;
    const args = { owner, node, mode, slot, periodMs, staleMs, leaseMs, retentionMs, keep };
    const input = { keys: { state, history }, args };
    if (replicas === 0) return this.registry.run(claimRun, input, { deadlineMs: redisTimeoutMs });
    const waits = { replicas, timeoutMs, deadlineMs: redisTimeoutMs + timeoutMs };
    const { result, replicas: copies } = await this.registry.runAndWait(claimRun, input, waits);
    if (result.outcome !== 'ran' || copies >= replicas) return result;
    throw new LockNotReplicatedError(
      `The claim of ${options.name} reached ${copies} of ${replicas} replicas in ${timeoutMs} ms.`,
    );
  }

  // See DECISIONS.md: unused-claim-is-given-back
  private giveBack({ state, history }: Job, owner: string, slot: number): Promise<boolean> {
    const { node, retentionMs, historySize: keep } = this.options;
    const nothing = { outcome: 'redis-error', durationMs: 0, atLeastMs: 0, slot, fence: 0 };
    return this.registry.run(completeRun, {
      keys: { state, history },
      args: { owner, node, retentionMs, keep, ...nothing },
    });
  }
}
