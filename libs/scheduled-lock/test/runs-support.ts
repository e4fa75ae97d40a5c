import type { Job, JobKind } from '../src/jobs/job';
import type { ResolvedScheduledLockModuleOptions } from '../src/scheduled-lock.options';

export const MODULE = {
  node: 'n1',
  historySize: 3,
  replicas: 0,
  staleAfterMs: 60_000,
  deadlineMs: 200,
  replicasTimeoutMs: 300,
  drainMs: 400,
  abortGraceMs: 50,
} as unknown as ResolvedScheduledLockModuleOptions;

const OPTIONS = {
  name: 'report',
  leaseMs: 3_000,
  lockAtLeastForMs: 20,
  renew: true,
  catchUpWithinMs: 90_000,
  onRedisError: 'skip',
} as unknown as Job['options'];

export const CRON: JobKind = {
  type: 'cron',
  live: { firedByHand: () => false, slotNow: () => Promise.resolve(77), nextAfter: () => undefined },
};
export const HANDLER: JobKind = { type: 'handler' };

export function jobOf(kind: JobKind = CRON, options: Partial<Job['options']> = {}): Job {
  return {
    options: { ...OPTIONS, ...options },
    kind,
    state: 'state',
    history: 'history',
    retentionMs: 9_000,
  };
}
