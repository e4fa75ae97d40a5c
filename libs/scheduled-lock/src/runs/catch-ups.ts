import type { Job, Work } from '../jobs/job';
import type { Ticks } from './ticks';

/** Shortest interval between two checks before it is made random, ms. */
const SHORTEST_MS = 100;

/** Checks periodically for slots whose run died or was lost, and runs these slots. */
export class CatchUps {
  private readonly jobs: { readonly job: Job; readonly work: Work }[] = [];
  private timers: NodeJS.Timeout[] = [];

  constructor(private readonly ticks: Ticks) {}

  add(job: Job, work: Work): void {
    this.jobs.push({ job, work });
  }

  start(): void {
    this.timers = this.jobs.map(({ job, work }) => {
      // The interval is random, so that nodes do not check at the same time.
      const everyMs = Math.max(SHORTEST_MS, job.options.leaseMs / 2) * (0.75 + Math.random() / 2);
      return setInterval(() => void this.ticks.run(job, 'catch-up', work).catch(() => undefined), everyMs).unref();
    });
  }

  stop(): void {
    for (const timer of this.timers) clearInterval(timer);
  }
}
