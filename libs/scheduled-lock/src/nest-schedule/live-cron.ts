import { latestSlot, zoneOf, type CronOptions, type CronTimes } from '../jobs/cron-slot';
import { ScheduledLockSetupError } from '../scheduled-lock.errors';

/** A job that waits for its completion may run its callbacks for long. */
const RECENT_MS = 1_000;

/** A job of the scheduler's cron package. */
export interface CronJob {
  readonly cronTime: CronTimes;
  readonly isCallbackRunning: boolean;
  lastDate(): Date | null;
}

/** What is asked of the SchedulerRegistry. */
export interface CronJobs {
  getCronJobs(): Map<string, CronJob>;
}

// See DECISIONS.md: slots-from-the-live-cron-job
/** The scheduler's job behind a method of `@Cron`, as it is now: its times may be changed while the app runs. */
export class LiveCron {
  private job: CronJob | undefined;
  private lastDate: Date | null | undefined;

  /** @param registries the app's SchedulerRegistry, in a list */
  constructor(
    private readonly options: CronOptions,
    private readonly registries: () => readonly CronJobs[],
  ) {}

  /**
   * Returns true if this tick was not made by the scheduler's timer, but by a call of `fireOnTick()`. To be called once for each
   * tick, in the turn in which it begins: only then the job is known to be running, and before it fires, a timer gives the job a
   * new date.
   */
  firedByHand(): boolean {
    this.job = this.registered() ?? this.running();
    if (!this.job) return false;
    const date = this.job.lastDate();
    const byHand = date === null || date === this.lastDate;
    this.lastDate = date;
    return byHand;
  }

  /** The latest scheduled instant, ms since the epoch. @throws ScheduledLockSetupError without a scheduler */
  async slotNow(): Promise<number> {
    const now = Date.now();
    // A job that is late when it is made fires before the scheduler has registered it, in the same turn.
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

  /** The scheduler names a job that has no name at random: the only one that has begun to run its callbacks is this one. */
  private running(): CronJob | undefined {
    if (this.options.name) return undefined;
    const recent = (date: Date | null): boolean => date === null || Date.now() - date.getTime() < RECENT_MS;
    const running = this.all.filter(([, job]) => job.isCallbackRunning && recent(job.lastDate()));
    return running.length === 1 ? running[0]?.[1] : undefined;
  }

  /** A CronTime of the scheduler's own cron package, found through a job that it registered: ours at the latest. */
  private timesOfDecorator(): CronTimes {
    const { cronTime, timeZone, utcOffset } = this.options;
    for (const registry of this.registries()) {
      for (const { cronTime: known } of registry.getCronJobs().values()) {
        const CronTime = known.constructor as new (source: unknown, zone?: unknown, offset?: unknown) => CronTimes;
        return new CronTime(cronTime, timeZone ?? null, timeZone === undefined ? (utcOffset ?? null) : null);
      }
    }
    throw new ScheduledLockSetupError(
      'The scheduler has no cron job, so the slot of this call is not known. Call it between bootstrap and shutdown.',
    );
  }
}
