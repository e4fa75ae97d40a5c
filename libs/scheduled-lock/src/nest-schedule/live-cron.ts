import { time, SetupError } from '../../../internal/src';
import { latestSlot, nextSlot, zoneOf, type CronOptions, type CronTimes } from '../jobs/cron-slot';

/**
 * Longest time since the last date of a job that has just fired, ms. A running job with an older date fired before: with
 * `waitForCompletion`, a job counts as running until its callbacks have ended.
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

/**
 * The CronJob that the scheduler made of a `@Cron` method. Slots come from it, because its times may be changed while the app runs.
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
   * Returns true if a call of `fireOnTick()` made this tick, and false if a timer did: only a timer gives the job a new `lastDate()`. Returns
   * false if the job is not found. Must be called once for each tick, in the turn of the event loop in which the tick begins, because
   * only then a job without a name can be found.
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
    // A job that is overdue when it is created fires at once. The scheduler registers it later in the same turn, so wait for that.
    if (!this.job) await Promise.resolve();
    const times = this.registered()?.cronTime ?? this.timesOfDecorator();
    return latestSlot(times, now, zoneOf(times));
  }

  /** Returns undefined also if the app has no registered cron job. */
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

  /** Finds a job without a name as the only job that has just begun to run, because the scheduler gave it a random name. */
  private running(): CronJob | undefined {
    if (this.options.name) return undefined;
    const recent = (date: Date | null): boolean => date === null || time.nowMs() - date.getTime() < RECENT_MS;
    const running = this.all.filter(([, job]) => job.isCallbackRunning && recent(job.lastDate()));
    return running.length === 1 ? running[0]?.[1] : undefined;
  }

  /** Makes a CronTime from the options of `@Cron`, with the scheduler's own class CronTime, which is taken from any registered job. */
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
