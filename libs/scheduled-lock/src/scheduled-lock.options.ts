import { hostname } from 'node:os';
import { Checks, type KnownOptions } from '../../internal/src';
import type { ScheduledLockOptions } from './scheduled-lock.types';

/** Options of ScheduledLockModule. */
export interface ScheduledLockModuleOptions {
  /**
   * Name of the app, the same on all its nodes. If two apps share a Redis, a namespace and the name of a job, each tick runs in
   * only one of them. Text of 1 to 100 letters, digits, `.`, `_`, `-`. Required.
   */
  readonly namespace: string;
  /** Name of this node in histories, without spaces. Default `<host>:<pid>`. */
  readonly node?: string;
  /** Default of `leaseMs`. Default 30,000. */
  readonly leaseMs?: number;
  /** Default of `onRedisError`. Default `skip`. */
  readonly onRedisError?: 'skip' | 'run';
  /** Default of `staleAfterMs`. Default 5,000. */
  readonly staleAfterMs?: number;
  /** Longest time that a tick waits for Redis, ms; integer >= 1. Default 2,000. */
  readonly redisTimeoutMs?: number;
  /** Default of `replicas`. Default 0: WAIT is not used. */
  readonly replicas?: number;
  /** Default of `replicasTimeoutMs`. Default 1,000. */
  readonly replicasTimeoutMs?: number;
  /** Entries of each job's history, integer of 1 to 1,000. Default 50. */
  readonly historySize?: number;
  /** How long shutdown waits for running jobs before it aborts them, ms; integer >= 0. Default 10,000. */
  readonly drainMs?: number;
  /** How long shutdown waits after the abort before it releases the locks, ms; integer >= 0. Default 500. */
  readonly abortGraceMs?: number;
  /** How long slots, fences and histories are kept, ms; integer >= 60,000. Default 7 days. */
  readonly retentionMs?: number;
}

/** Module options with every default filled in. */
export type ResolvedScheduledLockModuleOptions = Required<ScheduledLockModuleOptions>;

/** Options of a job with every default filled in; `key` stays as it was given. */
export type ResolvedJobOptions = Required<Omit<ScheduledLockOptions, 'key'>> & Pick<ScheduledLockOptions, 'key'>;

const KNOWN: KnownOptions<ScheduledLockModuleOptions> = {
  namespace: true,
  node: true,
  leaseMs: true,
  onRedisError: true,
  staleAfterMs: true,
  redisTimeoutMs: true,
  replicas: true,
  replicasTimeoutMs: true,
  historySize: true,
  drainMs: true,
  abortGraceMs: true,
  retentionMs: true,
};
const KNOWN_PER_JOB: KnownOptions<ScheduledLockOptions> = {
  name: true,
  leaseMs: true,
  lockAtLeastForMs: true,
  renew: true,
  onRedisError: true,
  staleAfterMs: true,
  catchUpWithinMs: true,
  replicas: true,
  replicasTimeoutMs: true,
  key: true,
  enhancers: true,
};

type MsOption = 'leaseMs' | 'lockAtLeastForMs' | 'staleAfterMs' | 'catchUpWithinMs' | 'replicasTimeoutMs';

const checks = new Checks('ScheduledLockModule');

/**
 * Checks the options and fills in the defaults.
 *
 * @throws InvalidOptionError with the option, its value and what is allowed
 */
export function resolveOptions(options: ScheduledLockModuleOptions): ResolvedScheduledLockModuleOptions {
  checks.options('', options, KNOWN);
  const { namespace, node = `${hostname()}:${process.pid}` } = options;
  return Object.freeze({
    namespace: checks.text(
      'namespace',
      namespace,
      /^[\w.-]{1,100}$/,
      '1 to 100 letters, digits, ".", "_" or "-": a name of this app that no other app on its Redis has',
    ),
    node: checks.text('node', node, /^\S{1,200}$/, 'text of 1 to 200 characters without spaces'),
    leaseMs: checks.integer('leaseMs', options.leaseMs ?? 30_000, 10),
    onRedisError: checks.choice('onRedisError', options.onRedisError ?? 'skip', ['skip', 'run']),
    staleAfterMs: checks.integer('staleAfterMs', options.staleAfterMs ?? 5_000, 1),
    redisTimeoutMs: checks.integer('redisTimeoutMs', options.redisTimeoutMs ?? 2_000, 1),
    replicas: checks.integer('replicas', options.replicas ?? 0, 0, 100),
    replicasTimeoutMs: checks.integer('replicasTimeoutMs', options.replicasTimeoutMs ?? 1_000, 1),
    historySize: checks.integer('historySize', options.historySize ?? 50, 1, 1_000),
    drainMs: checks.integer('drainMs', options.drainMs ?? 10_000, 0),
    abortGraceMs: checks.integer('abortGraceMs', options.abortGraceMs ?? 500, 0),
    retentionMs: checks.integer('retentionMs', options.retentionMs ?? 604_800_000, 60_000),
  });
}

/**
 * Checks a job's options and fills in the defaults.
 *
 * @param where `Class.method`, for messages and as the default name
 * @throws InvalidOptionError like `resolveOptions`
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
  const { name = where, key, renew = true, enhancers = false } = options;
  for (const [option, text] of Object.entries({ name, key: key ?? 'none' })) {
    job.text(option, text, /^[^]+$/, 'text that is not empty');
  }
  return Object.freeze({
    name,
    key,
    renew: job.flag('renew', renew),
    enhancers: job.flag('enhancers', enhancers),
    leaseMs: ms('leaseMs', 10),
    lockAtLeastForMs: ms('lockAtLeastForMs', 0),
    onRedisError: job.choice('onRedisError', given.onRedisError, ['skip', 'run']),
    staleAfterMs: ms('staleAfterMs', 1),
    catchUpWithinMs: ms('catchUpWithinMs', 0),
    replicas: job.integer('replicas', given.replicas, 0, 100),
    replicasTimeoutMs: ms('replicasTimeoutMs', 1),
  });
}

function withoutUndefined<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}
