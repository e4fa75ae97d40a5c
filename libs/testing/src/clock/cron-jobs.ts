import { time, type Timer } from '../../../internal/src';
import { ofJob } from './test-timers';

export interface CronJob {
  readonly cronTime: {
    getNextDateFrom(start: Date, zone?: string): { toMillis(): number };
    readonly timeZone?: string;
    readonly utcOffset?: number;
    /** True if the job was created with a date, so that it runs once. */
    readonly realDate: boolean;
    readonly source: unknown;
  };
  readonly isActive: boolean;
  readonly runOnce: boolean;
  lastExecution: Date | null;
  readonly _timeout?: NodeJS.Timeout;
  start(): void;
  stop(): unknown;
  fireOnTick(): unknown;
}

/** Makes a cron job run by the installed TestClock instead of real time. A job with a date in the past never runs. */
export function adoptCron(job: CronJob): void {
  const wasActive = job.isActive;
  const stopReal = job.stop.bind(job);
  let timer: Timer | undefined;
  const start = (): void => {
    if (timer !== undefined) return;
    const now = time.nowMs();
    const at = nextRun(job, now);
    if (at === undefined) return;
    const fire = (): void => {
      timer = undefined;
      job.lastExecution = new Date(time.nowMs());
      if (!job.runOnce) start();
      void job.fireOnTick();
    };
    timer = ofJob(time.setTimer(fire, at - now));
  };
  // The real timer is cleared directly, because stopReal() would also call `onComplete` of the job.
  clearTimeout(job._timeout);
  Object.defineProperties(job, {
    // `isActive` and `setTime` of the job read this field. The job also writes it, so it needs a setter.
    _isActive: { get: () => timer !== undefined, set: () => undefined, configurable: true },
    start: { value: start, configurable: true },
    stop: {
      value: () => {
        time.clearTimer(timer);
        timer = undefined;
        return stopReal();
      },
      configurable: true,
    },
  });
  if (wasActive) start();
}

/** Returns when a job runs next, ms since 1970; undefined if it never runs again. */
function nextRun({ cronTime }: CronJob, now: number): number | undefined {
  if (!cronTime.realDate) return cronTime.getNextDateFrom(new Date(now), zoneOf(cronTime)).toMillis();
  // `source` is a Date, or a DateTime of the package luxon.
  const at = Number(cronTime.source);
  return at < now ? undefined : at;
}

/** Returns the time zone of a job in the form of the package luxon. `utcOffset` is in minutes. */
function zoneOf({ timeZone, utcOffset }: CronJob['cronTime']): string | undefined {
  if (utcOffset === undefined) return timeZone;
  const minutes = Math.abs(Number(utcOffset));
  const two = (value: number): string => String(value).padStart(2, '0');
  return `UTC${Number(utcOffset) < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
