import { time, SetupError } from '../../../internal/src';
import { latestSlot, nextSlot, zoneOf, type CronOptions, type CronTimes } from '../jobs/cron-slot';

/**
 * Longest time since the `lastDate()` of a cron job that has just fired, ms. A running job with an older `lastDate()` fired earlier: with
 * `waitForCompletion`, a job counts as running until its callbacks have ended.
 */
const RECENT_MS = 1_000;

/** The part of the class CronJob of the package `cron` that this lib uses. */
export interface CronJob {
  readonly cronTime: CronTimes;
  readonly isCallbackRunning: boolean;
  lastDate(): Date | null;
}

/** The part of the SchedulerRegistry that this lib uses. */
export interface CronJobs {
  getCronJobs(): Map<string, CronJob>;
}

/**
 * The CronJob that the scheduler made for a `@Cron` method. It gives the scheduled instants. The decorator does not, because the app may
 * change the times of the CronJob while it runs.
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
   * Returns true if the app called `fireOnTick()`, and false if a timer of the scheduler fired: only a timer gives the job a new
   * `lastDate()`. Returns false if the job is not found. Must be called once each time that the job fires, in the same turn of the event
   * loop: later, a job without a name cannot be found.
   */
  firedByHand(): boolean {
    this.job = this.registered() ?? this.running();
    if (!this.job) return false;
    const date = this.job.lastDate();
    const byHand = date === null || date === this.lastDate;
    this.lastDate = date;
    return byHand;
  }

  /** Returns the latest scheduled instant, ms since 1970. @throws SetupError if the app has no registered cron job */
  async slotNow(): Promise<number> {
    const now = time.nowMs();
    // A job that is overdue when it is created fires before the scheduler has registered it. The scheduler does so in the same turn.
    if (!this.job) await Promise.resolve();
    const times = this.registered()?.cronTime ?? this.timesOfDecorator();
    return latestSlot(times, now, zoneOf(times));
  }

  /** Returns the first scheduled instant after `nowMs`, ms since 1970; undefined if there is none, or if the app has no cron job. */
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
   * Returns the CronJob of a `@Cron` without a name. The scheduler gave it a random name. So it is found only if no other job has just
   * begun to run.
   */
  private running(): CronJob | undefined {
    if (this.options.name) return undefined;
    const recent = (date: Date | null): boolean => date === null || time.nowMs() - date.getTime() < RECENT_MS;
    const running = this.all.filter(([, job]) => job.isCallbackRunning && recent(job.lastDate()));
    return running.length === 1 ? running[0]?.[1] : undefined;
  }

  /** Creates a CronTime from the options of `@Cron`. Takes the class CronTime from any registered job: the scheduler's own class. */
  private timesOfDecorator(): CronTimes {
    const { cronTime, timeZone, utcOffset } = this.options;
    for (const registry of this.registries()) {
      for (const { cronTime: known } of registry.getCronJobs().values()) {
        const CronTime = known.constructor as new (source: unknown, zone?: unknown, offset?: unknown) => CronTimes;
        return new CronTime(cronTime, timeZone ?? null, timeZone === undefined ? (utcOffset ?? null) : null);
      }
    }
    throw new SetupError(
      'The SchedulerRegistry has no cron job, so the slot of this call is unknown. Call the method after the app has started and before it shuts down.',
    );
  }
}
