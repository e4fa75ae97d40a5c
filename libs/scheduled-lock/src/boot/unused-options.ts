import { InvalidOptionError, shown } from '../../../internal/src';
import type { JobKind } from '../jobs/job';
import type { ResolvedJobOptions, ResolvedScheduledLockModuleOptions } from '../scheduled-lock.options';
import type { ScheduledLockOptions } from '../scheduled-lock.types';

/** Options that have an effect only for some kinds of jobs, and why they have none for the others. */
const ONLY_FOR: readonly (readonly [option: keyof ScheduledLockOptions, kinds: readonly string[], why: string])[] = [
  ['key', ['timeout'], 'Only a job of @Timeout has a key.'],
  ['staleAfterMs', ['cron'], 'Only ticks of @Cron can be stale.'],
  ['catchUpWithinMs', ['cron', 'interval'], 'A job of @Timeout and a handler have no slots to catch up.'],
  ['enhancers', ['cron', 'interval', 'timeout'], 'Nest runs the enhancers of a handler anyway.'],
];

/**
 * Refuses options of a job that have no effect, and those that would let a slot run twice.
 *
 * @param where decorator and method, for messages
 * @param given options of the decorator, without defaults
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
    if (!unused && !kinds.includes(kind.type)) refuse(`${option} is ${shown(given[option])}. ${why} Leave it out.`);
  }
  const { leaseMs, lockAtLeastForMs, catchUpWithinMs, staleAfterMs, replicas } = options;
  if (lockAtLeastForMs > leaseMs) {
    refuse(`lockAtLeastForMs is ${lockAtLeastForMs}. Expected at most leaseMs (${leaseMs}).`);
  }
  if (catchUpWithinMs > 0 && catchUpWithinMs <= leaseMs) {
    refuse(
      `catchUpWithinMs is ${catchUpWithinMs}, and the lock of a run that died outlasts it. ` +
        `Expected more than leaseMs (${leaseMs}), better twice as much, or 0.`,
    );
  }
  if (catchUpWithinMs > retentionMs) {
    refuse(
      `catchUpWithinMs is ${catchUpWithinMs}. Expected at most retentionMs (${retentionMs}): slots are forgotten then.`,
    );
  }
  if (given.replicasTimeoutMs !== undefined && replicas === 0) {
    refuse(`replicasTimeoutMs is ${given.replicasTimeoutMs}, and replicas is 0. Set replicas, or leave it out.`);
  }
  if (kind.type === 'cron' && 2 * staleAfterMs > retentionMs) {
    refuse(
      `staleAfterMs is ${staleAfterMs}. Expected at most half of retentionMs (${retentionMs}): ` +
        'a slot that is forgotten while its ticks may still come would run twice.',
    );
  }
  if (kind.periodMs !== undefined && kind.periodMs > retentionMs) {
    refuse(
      `@Interval(${kind.periodMs}) is longer than retentionMs (${retentionMs}), so its slot would be forgotten and run twice. ` +
        'Set a retentionMs of ScheduledLockModule that is at least as long.',
    );
  }
}
