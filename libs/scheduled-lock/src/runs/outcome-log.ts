import type { Logger } from '@nestjs/common';
import { LuanestError, time } from '../../../internal/src';
import type { Job } from '../jobs/job';
import { events } from '../scheduled-lock.events';
import type { ResolvedScheduledLockModuleOptions } from '../scheduled-lock.options';
import type { JobStatus, JobRecord } from '../scheduled-lock.types';
import type { Mode } from './claims';

export interface TickOutcome {
  readonly mode: Mode;
  readonly status: JobStatus;
  readonly slot: number;
  readonly fence?: number;
  readonly durationMs?: number;
  readonly error?: unknown;
}

/** Failures of a job in a row: claims that failed, or runs that fired too far from their scheduled time (`stale`). */
interface Streak {
  readonly sinceMs: number;
  ticks: number;
}

/**
 * Publishes the results of runs, and remembers those that Redis may not have stored. Of several failed claims in a row, logs only the first
 * one, and another line when the next claim works. Does the same for runs that fired too far from their scheduled time (`stale`).
 */
export class OutcomeLog {
  private readonly unsaved = new Map<string, JobRecord[]>();
  private readonly failing = new Map<string, Streak>();
  private readonly stale = new Map<string, Streak>();

  constructor(
    private readonly options: Pick<ResolvedScheduledLockModuleOptions, 'node' | 'historySize' | 'staleAfterMs'>,
    private readonly logger: Pick<Logger, 'warn' | 'log'>,
    private readonly registry?: object,
  ) {}

  /** Publishes and logs a result. @param saved true if the history in Redis certainly has it */
  record(job: Job, tick: TickOutcome, saved: boolean): void {
    const { name } = job.options;
    const { status, slot, fence = 0, durationMs = 0, error } = tick;
    const { node, historySize } = this.options;
    const record: JobRecord = { status, slot, fence, recordedAtMs: time.nowMs(), durationMs, node };
    events.tickEnded.publish(() => ({ name, ...record, ...(error === undefined ? {} : { error }) }), this.registry);
    if (!saved) this.unsaved.set(name, [record, ...this.unsavedOf(name)].slice(0, historySize));
    if (status === 'redis-error') this.logFailure(job, error);
    else this.logRecovery(job, tick);
  }

  /** Returns the last results of a job on this node that the history in Redis may lack, the newest first. */
  unsavedOf(name: string): readonly JobRecord[] {
    return this.unsaved.get(name) ?? [];
  }

  private logFailure({ options: { name, onRedisError } }: Job, error: unknown): void {
    if (!begins(this.failing, name)) return;
    const why = error instanceof LuanestError ? error.code : error instanceof Error ? error.name : 'unknown error';
    const what = onRedisError === 'run' ? 'runs without the lock' : 'does not run';
    this.logger.warn(
      `Job ${name}: Redis failed when this node tried to get the lock of the run (${why}), so the job ${what} this time (onRedisError: ` +
        `'${onRedisError}'). Check Redis. Further failures are not logged until a call works again.`,
    );
  }

  private logRecovery({ options: { name, onRedisError } }: Job, { mode, status, slot }: TickOutcome): void {
    const failed = this.failing.get(name);
    if (failed && this.failing.delete(name)) {
      const what = onRedisError === 'run' ? 'ran without the lock' : 'did not run';
      const times = failed.ticks === 1 ? 'once' : `${failed.ticks} times`;
      this.logger.log(`Job ${name}: Redis replies again. The job ${what} ${times} since ${at(failed.sinceMs)}.`);
    }
    if (status === 'stale') {
      const { staleAfterMs } = this.options;
      if (!begins(this.stale, name)) return;
      const lateMs = time.nowMs() - slot;
      const cause =
        Math.abs(lateMs) > staleAfterMs
          ? `By the clock of this machine it fired ${Math.abs(lateMs)} ms ${lateMs > 0 ? 'late' : 'early'}, so check if this process was blocked`
          : `By the clock of this machine it fired within ${Math.abs(lateMs)} ms of that time, so correct this clock or Redis' clock`;
      this.logger.warn(
        `Job ${name}: the run scheduled at ${at(slot)} is skipped on this node (status stale), because it fired more than ` +
          `${staleAfterMs} ms away from that time by Redis' clock. ${cause}. Further stale runs are not logged until one is ` +
          'on time.',
      );
      return;
    }
    const late = this.stale.get(name);
    // Only a scheduled run shows that the timers of this node are on time. A run by hand or a repeated run shows nothing.
    if (!late || mode !== 'tick') return;
    this.stale.delete(name);
    const were = late.ticks === 1 ? 'was' : 'were';
    this.logger.log(
      `Job ${name}: its scheduled runs are on time again. ${countOf(late)} ${were} stale and skipped since ${at(late.sinceMs)}.`,
    );
  }
}

/** Counts a failure of a job. Returns true for the first one in a row. */
function begins(streaks: Map<string, Streak>, name: string): boolean {
  const known = streaks.get(name);
  if (known) known.ticks++;
  else streaks.set(name, { sinceMs: time.nowMs(), ticks: 1 });
  return !known;
}

const countOf = ({ ticks }: Streak): string => (ticks === 1 ? '1 run' : `${ticks} runs`);
const at = (ms: number): string => new Date(ms).toISOString();
