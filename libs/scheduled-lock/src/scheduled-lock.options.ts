import {
  Checks,
  KNOWN_NODE,
  KNOWN_REPLICAS,
  KNOWN_SHUTDOWN,
  resolveNode,
  resolveReplicas,
  resolveShutdown,
  type KnownOptions,
  type NodeOptions,
  type ReplicaOptions,
  type ShutdownOptions,
} from '../../internal/src';
import type { JobTerms, ScheduledLockOptions } from './scheduled-lock.types';

/**
 * Options of ScheduledLockModule. `replicas`: number of replicas that must confirm each claim (the call by which a node gets the right to
 * run a job) and each renewal of its lease. If fewer confirm a claim, the claim fails, and `onRedisError` decides. If fewer confirm a
 * renewal, the renewal is tried again until the lease ends.
 */
export interface ScheduledLockModuleOptions extends JobTerms, NodeOptions, ReplicaOptions, ShutdownOptions {
  /**
   * Name of the app, the same on all nodes of the app. If two apps use the same Redis, namespace and job name, each scheduled run
   * happens in only one of the two apps. Text of 1 to 100 letters, digits, `.`, `_`, `-`. Required.
   */
  readonly namespace: string;
}

export interface ResolvedScheduledLockModuleOptions extends Required<ScheduledLockModuleOptions> {
  /** Longest wait for the reply to a claim, ms. With `replicas`, `replicasTimeoutMs` is added. */
  readonly deadlineMs: number;
  /**
   * Largest difference between the scheduled time of a `@Cron` job and Redis' time, ms. If the difference is larger, the job does not run,
   * and the status is `stale`. So the clocks of the nodes may differ by this time. At most half of `retentionMs`: nodes may try to claim a
   * scheduled time for twice this time, and Redis must remember the first claim meanwhile.
   */
  readonly staleAfterMs: number;
  /** Number of results that the history of a job keeps. */
  readonly historySize: number;
  /** Redis keeps the last scheduled time, the fencing token and the history of a job at least this long after its last run, ms. */
  readonly retentionMs: number;
}

/** Options of a job with the defaults filled in; `key` has no default. */
export type ResolvedJobOptions = Required<Omit<ScheduledLockOptions, 'key'>> & Pick<ScheduledLockOptions, 'key'>;

const KNOWN_TERMS: KnownOptions<JobTerms> = { leaseMs: true, onRedisError: true };
const KNOWN: KnownOptions<ScheduledLockModuleOptions> = {
  namespace: true,
  ...KNOWN_NODE,
  ...KNOWN_TERMS,
  ...KNOWN_REPLICAS,
  ...KNOWN_SHUTDOWN,
};
const KNOWN_PER_JOB: KnownOptions<ScheduledLockOptions> = {
  name: true,
  ...KNOWN_TERMS,
  lockAtLeastForMs: true,
  renew: true,
  catchUpWithinMs: true,
  key: true,
};

type MsOption = 'leaseMs' | 'lockAtLeastForMs' | 'catchUpWithinMs';

/** Settings that only tests change. */
export const FIXED = { staleAfterMs: 5_000, deadlineMs: 2_000, historySize: 50, retentionMs: 7 * 86_400_000 };

const checks = new Checks('ScheduledLockModule');

export function resolveOptions(options: ScheduledLockModuleOptions): ResolvedScheduledLockModuleOptions {
  checks.options('', options, KNOWN);
  const { namespace } = options;
  return Object.freeze({
    namespace: checks.text(
      'namespace',
      namespace,
      /^[\w.-]{1,100}$/,
      '1 to 100 letters, digits, ".", "_" or "-": a name of this app that no other app on the same Redis uses',
    ),
    node: resolveNode(options, checks),
    leaseMs: checks.integer('leaseMs', options.leaseMs ?? 30_000, 10),
    onRedisError: checks.choice('onRedisError', options.onRedisError ?? 'skip', ['skip', 'run']),
    ...resolveReplicas(options, checks),
    ...resolveShutdown(options, checks),
    ...FIXED,
  });
}

/**
 * Checks a job's options and fills in the defaults.
 *
 * @param where `Class.method`, for messages and as the default name of the job
 * @throws InvalidOptionError with the option, its value and what is allowed
 */
export function resolveJobOptions(
  options: ScheduledLockOptions,
  where: string,
  module: ResolvedScheduledLockModuleOptions,
): ResolvedJobOptions {
  const job = new Checks(`@ScheduledLock on ${where}`);
  job.options('', options, KNOWN_PER_JOB);
  const given = { ...module, lockAtLeastForMs: 0, catchUpWithinMs: 0, ...withoutUndefined(options) };
  const ms = (option: MsOption, min: number): number => job.integer(option, given[option], min);
  const { name = where, key, renew = true } = options;
  for (const [option, text] of Object.entries({ name, key: key ?? 'none' })) job.id(option, text, 256);
  return Object.freeze({
    name,
    key,
    renew: job.flag('renew', renew),
    leaseMs: ms('leaseMs', 10),
    lockAtLeastForMs: ms('lockAtLeastForMs', 0),
    onRedisError: job.choice('onRedisError', given.onRedisError, ['skip', 'run']),
    catchUpWithinMs: ms('catchUpWithinMs', 0),
  });
}

function withoutUndefined<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}
