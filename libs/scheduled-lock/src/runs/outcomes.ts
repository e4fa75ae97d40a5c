import type { Job } from '../jobs/job';
import { events } from '../scheduled-lock.events';
import type { ResolvedScheduledLockModuleOptions } from '../scheduled-lock.options';
import type { JobOutcome, JobRecord } from '../scheduled-lock.types';

/** What there is to tell of one tick. */
export interface Told {
  readonly outcome: JobOutcome;
  readonly slot: number;
  readonly fence?: number;
  readonly durationMs?: number;
  readonly error?: unknown;
}

/** Tells how ticks went, and remembers what could not be noted in Redis. */
export class Outcomes {
  private readonly unnoted = new Map<string, JobRecord[]>();

  constructor(private readonly options: Pick<ResolvedScheduledLockModuleOptions, 'node' | 'historySize'>) {}

  /** @param noted whether the history in Redis has it */
  tell({ options: { name } }: Job, { outcome, slot, fence = 0, durationMs = 0, error }: Told, noted: boolean): void {
    const { node, historySize } = this.options;
    const record: JobRecord = { outcome, slot, fence, atMs: Date.now(), durationMs, node };
    events.outcome.publish(() => ({ name, ...record, ...(error === undefined ? {} : { error }) }));
    if (!noted) this.unnoted.set(name, [record, ...this.unnotedOf(name)].slice(0, historySize));
  }

  unnotedOf(name: string): readonly JobRecord[] {
    return this.unnoted.get(name) ?? [];
  }
}
