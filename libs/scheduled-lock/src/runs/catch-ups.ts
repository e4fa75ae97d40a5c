import { time, type Timer } from '../../../internal/src';
import type { Job, Work } from '../jobs/job';
import type { Ticks } from './ticks';

/** Shortest time between two checks for lost runs, ms. The time is multiplied by a random factor of 0.75 to 1.25. */
const SHORTEST_MS = 100;

/** Checks periodically for scheduled runs whose process died or lost its lease, and repeats them. */
export class CatchUps {
  private readonly jobs: { readonly job: Job; readonly work: Work }[] = [];
  private timers: Timer[] = [];

  constructor(private readonly ticks: Ticks) {}

  add(job: Job, work: Work): void {
    this.jobs.push({ job, work });
  }

  start(): void {
    this.timers = this.jobs.map(({ job, work }) => {
      // The random part keeps the nodes from checking at the same time.
      const everyMs = Math.max(SHORTEST_MS, job.options.leaseMs / 2) * (0.75 + Math.random() / 2);
      const check = (): void => void this.ticks.run(job, 'catch-up', work).catch(() => undefined);
      const timer = time.setRepeatingTimer(check, everyMs);
      timer.unref();
      return timer;
    });
  }

  stop(): void {
    for (const timer of this.timers) time.clearTimer(timer);
  }
}
