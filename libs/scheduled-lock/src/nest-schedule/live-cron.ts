import { latestSlot, zoneOf, type CronOptions, type CronTimes } from '../jobs/cron-slot';
import { ScheduledLockSetupError } from '../scheduled-lock.errors';

/**
 * Longest time since a job's date at which a running job may be the one that just fired, ms. A job with `waitForCompletion` may
 * run its callbacks for longer.
 */
const RECENT_MS = 1_000;

/** The part of a job of the cron package that this lib uses. */
export interface CronJob {
  readonly cronTime: CronTimes;
  readonly isCallbackRunning: boolean;
  lastDate(): Date | null;
}

/** The part of the SchedulerRegistry that this lib uses. */
export interface CronJobs {
  getCronJobs(): Map<string, CronJob>;
}

// See DECISIONS.md: slots-from-the-live-cron-job
/** The scheduler's job of a `@Cron` method in its current state: its times may be changed while the app runs. */
export class LiveCron {
  private job: CronJob | undefined;
  private lastDate: Date | null | undefined;

  /** @param registries the app's SchedulerRegistry, in a list */
  constructor(
    private readonly options: CronOptions,
    private readonly registries: () => readonly CronJobs[],
  ) {}

  /**
   * Returns true if a call of `fireOnTick()` made this tick, and not the scheduler's timer. To be called once for each tick, in
   * the turn in which it begins: only then can the running job be found. A timer gives the job a new date before it fires.
   */
  firedByHand(): boolean {
    this.job = this.registered() ?? this.running();
    if (!this.job) return false;
    const date = this.job.lastDate();
    const byHand = date === null || date === this.lastDate;
    this.lastDate = date;
    return byHand;
  }

  /** Returns the latest scheduled instant, ms since 1970. @throws ScheduledLockSetupError if no scheduler is running */
  async slotNow(): Promise<number> {
    const now = Date.now();
    // A job that is late when it is created fires in the same turn, before the scheduler has registered it.
    if (!this.job) await Promise.resolve();
    const times = this.registered()?.cronTime ?? this.timesOfDecorator();
    return latestSlot(times, now, zoneOf(times));
  }

  private get all(): (readonly [name: string, job: CronJob])[] {
    return this.registries().flatMap((registry) => [...registry.getCronJobs()]);
  }

  private registered(): CronJob | undefined {
    const { name } = this.options;
    return this.all.find(([key, job]) => (name ? key === name : job === this.job))?.[1];
  }

  /** Finds a job without a name, which the scheduler gave a random name: it is the only job that has just begun to run. */
  private running(): CronJob | undefined {
    if (this.options.name) return undefined;
    const recent = (date: Date | null): boolean => date === null || Date.now() - date.getTime() < RECENT_MS;
    const running = this.all.filter(([, job]) => job.isCallbackRunning && recent(job.lastDate()));
    return running.length === 1 ? running[0]?.[1] : undefined;
  }

  /** Builds a CronTime with the class that the scheduler uses, which is found through any registered job. */
  private timesOfDecorator(): CronTimes {
    const { cronTime, timeZone, utcOffset } = this.options;
    for (const registry of this.registries()) {
      for (const { cronTime: known } of registry.getCronJobs().values()) {
        const CronTime = known.constructor as new (source: unknown, zone?: unknown, offset?: unknown) => CronTimes;
        return new CronTime(cronTime, timeZone ?? null, timeZone === undefined ? (utcOffset ?? null) : null);
      }
    }
    throw new ScheduledLockSetupError(
      'The scheduler has no cron job, so the slot of this call is unknown. Call the method between bootstrap and shutdown.',
    );
  }
}
