import { InvalidOptionError, shown } from '../../../internal/src';
import type { JobKind } from '../jobs/job';
import type { ResolvedJobOptions } from '../scheduled-lock.options';
import type { ScheduledLockOptions } from '../scheduled-lock.types';

/** Options that have an effect only for some kinds of jobs: the kinds, and the reason. */
const ONLY_FOR: readonly (readonly [option: keyof ScheduledLockOptions, kinds: readonly string[], why: string])[] = [
  ['key', ['timeout'], 'Only a job with @Timeout uses the option key.'],
  [
    'catchUpWithinMs',
    ['cron', 'interval'],
    'Only jobs with @Cron or @Interval can catch up a missed run, not those with @Timeout, and not handlers.',
  ],
];

/**
 * Refuses options of a job that have no effect or contradict each other.
 *
 * @param where decorator and method, for messages
 * @param given options that the decorator got, without defaults
 * @param options the same options, with defaults
 * @throws InvalidOptionError with the option, its value and what to do
 */
export function refuseDeadOptions(
  where: string,
  given: ScheduledLockOptions,
  options: ResolvedJobOptions,
  kind: Pick<JobKind, 'type'>,
): void {
  const refuse = (message: string): never => {
    throw new InvalidOptionError(`${where}: ${message}`);
  };
  for (const [option, kinds, why] of ONLY_FOR) {
    const unused = given[option] === undefined || given[option] === 0;
    if (!unused && !kinds.includes(kind.type))
      refuse(`${option} is ${shown(given[option])}. ${why} Leave the option out.`);
  }
  const { leaseMs, lockAtLeastForMs, catchUpWithinMs } = options;
  if (lockAtLeastForMs > leaseMs) {
    refuse(`lockAtLeastForMs is ${lockAtLeastForMs} ms. Expected at most leaseMs, which is ${leaseMs} ms.`);
  }
  if (catchUpWithinMs > 0 && catchUpWithinMs <= leaseMs) {
    refuse(
      `catchUpWithinMs is ${catchUpWithinMs} ms. Expected 0, or more than leaseMs (${leaseMs} ms): after a crash, the lock of the run ` +
        'stays held for leaseMs. We recommend at least twice leaseMs.',
    );
  }
}
