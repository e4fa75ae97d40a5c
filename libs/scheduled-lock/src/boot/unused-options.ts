import { InvalidOptionError, shown } from '../../../internal/src';
import type { JobKind } from '../jobs/job';
import type { ResolvedJobOptions, ResolvedScheduledLockModuleOptions } from '../scheduled-lock.options';
import type { ScheduledLockOptions } from '../scheduled-lock.types';

/** Options that have an effect only for some kinds of jobs, those kinds, and the reason. */
const ONLY_FOR: readonly (readonly [option: keyof ScheduledLockOptions, kinds: readonly string[], why: string])[] = [
  ['key', ['timeout'], 'Only a job of @Timeout has a key.'],
  ['staleAfterMs', ['cron'], 'Only ticks of @Cron can be stale.'],
  ['catchUpWithinMs', ['cron', 'interval'], 'A job of @Timeout and a handler have no slots to catch up.'],
  ['enhancers', ['cron', 'interval', 'timeout'], 'Nest runs the enhancers of a handler without this option.'],
];

/**
 * Refuses options of a job that have no effect or contradict each other, and options with which a tick could run twice.
 *
 * @param where decorator and method, for messages
 * @param given options as the decorator got them, without defaults
 * @param options the same options with defaults
 * @throws InvalidOptionError with the option, its value and what to do
 */
export function refuseDeadOptions(
  where: string,
  given: ScheduledLockOptions,
  options: ResolvedJobOptions,
  kind: Pick<JobKind, 'type'> & { readonly periodMs?: number },
  { retentionMs }: Pick<ResolvedScheduledLockModuleOptions, 'retentionMs'>,
): void {
  const refuse = (message: string): never => {
    throw new InvalidOptionError(`${where}: ${message}`);
  };
  for (const [option, kinds, why] of ONLY_FOR) {
    const unused = given[option] === undefined || given[option] === 0 || given[option] === false;
    if (!unused && !kinds.includes(kind.type))
      refuse(`${option} is ${shown(given[option])}. ${why} Leave the option out.`);
  }
  const { leaseMs, lockAtLeastForMs, catchUpWithinMs, staleAfterMs } = options;
  if (lockAtLeastForMs > leaseMs) {
    refuse(`lockAtLeastForMs is ${lockAtLeastForMs}. Expected at most leaseMs (${leaseMs}).`);
  }
  if (catchUpWithinMs > 0 && catchUpWithinMs <= leaseMs) {
    refuse(
      `catchUpWithinMs is ${catchUpWithinMs}. Expected 0, or more than leaseMs (${leaseMs}), because a run that died keeps its lock ` +
        'for leaseMs. At least twice leaseMs is best.',
    );
  }
  if (catchUpWithinMs > retentionMs) {
    refuse(
      `catchUpWithinMs is ${catchUpWithinMs}. Expected at most retentionMs (${retentionMs}), because Redis remembers for that time which ticks ran.`,
    );
  }
  if (kind.type === 'cron' && 2 * staleAfterMs > retentionMs) {
    refuse(
      `staleAfterMs is ${staleAfterMs}. Expected at most half of retentionMs (${retentionMs}), ` +
        'because Redis must remember a tick that ran until no node can fire it any more. Otherwise it could run twice.',
    );
  }
  if (kind.periodMs !== undefined && kind.periodMs > retentionMs) {
    refuse(
      `@Interval(${kind.periodMs}) is longer than retentionMs (${retentionMs}), so before a period ends Redis could forget that its tick ran, ` +
        'and the tick could run twice. Set a retentionMs of ScheduledLockModule that is at least as long as the interval.',
    );
  }
}
