import { time, SetupError } from '../../../internal/src';
import { latestSlot, nextSlot, zoneOf, type CronOptions, type CronTimes } from '../jobs/cron-slot';

/**
 * A cron job that has just fired has a `lastDate()` that is at most this old, ms. A job with `waitForCompletion` counts as running until
 * its callbacks have ended, so the `lastDate()` of a running job may be older.
 */
const RECENT_MS = 1_000;

export interface CronJob {
  readonly cronTime: CronTimes;
  readonly isCallbackRunning: boolean;
  lastDate(): Date | null;
}

export interface CronJobs {
  getCronJobs(): Map<string, CronJob>;
}

/**
 * Finds the scheduled times of a `@Cron` method in the CronJob that the scheduler has created for it. The options of the decorator are not
 * enough, because the app may change the times of the CronJob while it runs.
 * See DECISIONS.md: slots-from-the-live-cron-job
 */
export class LiveCron {
  private job: CronJob | undefined;
  private lastDate: Date | null | undefined;

  /** @param registries returns the instances of SchedulerRegistry in the app */
  constructor(
    private readonly options: CronOptions,
    private readonly registries: () => readonly CronJobs[],
  ) {}

  /**
   * Returns true if the app called `fireOnTick()`, and false if a timer fired: only a timer changes the job's `lastDate()`. Returns false
   * if the job is not found. Call it once each time the job fires, in the same turn of the event loop; later, a job without a name cannot
   * be found.
   */
  firedByHand(): boolean {
    this.job = this.registered() ?? this.running();
    if (!this.job) return false;
    const date = this.job.lastDate();
    const byHand = date === null || date === this.lastDate;
    this.lastDate = date;
    return byHand;
  }

  /** Returns the latest scheduled time, ms since 1970. @throws SetupError if the scheduler has no cron job */
  async slotNow(): Promise<number> {
    const now = time.nowMs();
    // A job that is overdue when it is created fires before the scheduler has registered it. The scheduler does so in the same turn of the
    // event loop, so it is enough to wait for a microtask.
    if (!this.job) await Promise.resolve();
    const times = this.registered()?.cronTime ?? this.timesOfDecorator();
    return latestSlot(times, now, zoneOf(times));
  }

  /** Returns the next scheduled time after `nowMs`, ms since 1970; undefined if there is none, or if the scheduler has no cron job. */
  nextAfter(nowMs: number): number | undefined {
    if (this.all.length === 0) return undefined;
    const times = this.registered()?.cronTime ?? this.timesOfDecorator();
    return nextSlot(times, nowMs, zoneOf(times));
  }

  private get all(): (readonly [name: string, job: CronJob])[] {
    return this.registries().flatMap((registry) => [...registry.getCronJobs()]);
  }

  private registered(): CronJob | undefined {
    const { name } = this.options;
    return this.all.find(([key, job]) => (name ? key === name : job === this.job))?.[1];
  }

  /**
   * Returns the CronJob of a `@Cron` without a name, for which the scheduler chose a random name. It can be found only if no other job has
   * just begun to run.
   */
  private running(): CronJob | undefined {
    if (this.options.name) return undefined;
    const recent = (date: Date | null): boolean => date === null || time.nowMs() - date.getTime() < RECENT_MS;
    const running = this.all.filter(([, job]) => job.isCallbackRunning && recent(job.lastDate()));
    return running.length === 1 ? running[0]?.[1] : undefined;
  }

  /**
   * Makes a CronTime from the options of `@Cron`. Takes the class CronTime from any registered job, because it must be the class that the
   * scheduler uses, and this lib does not import the package `cron`.
   */
  private timesOfDecorator(): CronTimes {
    const { cronTime, timeZone, utcOffset } = this.options;
    for (const registry of this.registries()) {
      for (const { cronTime: known } of registry.getCronJobs().values()) {
        const CronTime = known.constructor as new (source: unknown, zone?: unknown, offset?: unknown) => CronTimes;
        return new CronTime(cronTime, timeZone ?? null, timeZone === undefined ? (utcOffset ?? null) : null);
      }
    }
    throw new SetupError(
      '@ScheduledLock: The job did not run, because its scheduled time is unknown: the SchedulerRegistry of @nestjs/schedule has no ' +
        'cron job. Call the method after the app has started and before it shuts down.',
    );
  }
}
