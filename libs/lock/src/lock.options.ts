import { hostname } from 'node:os';
import { Checks, type KnownOptions } from '../../internal/src';

/** Options of one acquisition. */
export interface LockOptions {
  /** Lease: how long a process that died keeps the lock, ms; integer of 10 to 2^31 - 1. Default: the module's. */
  readonly leaseMs?: number;
  /** How long to wait while the lock is held, ms; integer >= 0. Default: the module's, or 0 with `skip`. */
  readonly waitMs?: number;
  /** Behaviour if the lock is held: `wait` up to `waitMs`, or `skip`. Default `wait`. `tryAcquire` always skips. */
  readonly onBusy?: 'wait' | 'skip';
  /** True to renew the lease until the release. Default true. */
  readonly renew?: boolean;
  /** Number of replicas that must have the lock, integer of 0 to 100. With fewer, the lock is released. Default: the module's. */
  readonly replicas?: number;
  /** Longest wait for the replicas, ms; integer >= 1. Default: the module's. */
  readonly replicasTimeoutMs?: number;
  /**
   * Signal that ends the acquisition, which then throws the signal's reason. A lock that arrives after that is released. The
   * signal does not end an acquired lock or the work under it: see `signal` of the lock for that. Default none.
   */
  readonly signal?: AbortSignal;
}

/** Options of LockModule. */
export interface LockModuleOptions {
  /** Default of `leaseMs`. Default 30,000. */
  readonly leaseMs?: number;
  /** Default of `waitMs`. Default 10,000. */
  readonly waitMs?: number;
  /** Longest pause between two tries while waiting, ms; integer >= 1. A release wakes waiters at once. Default 1,000. */
  readonly pollMs?: number;
  /** Longest time for the reply to an acquisition after its `waitMs`, ms; integer >= 1. Default 500. */
  readonly redisTimeoutMs?: number;
  /** How long the fence of a lock is kept after its lease, ms; integer >= 1,000. Default 1 hour. */
  readonly fenceRetentionMs?: number;
  /** Default of `replicas`. Default 0: WAIT is not used. */
  readonly replicas?: number;
  /** Default of `replicasTimeoutMs`. Default 1,000. */
  readonly replicasTimeoutMs?: number;
  /** Name of this process as `status` returns it, text of 1 to 200 characters without `#`. Default `<host>:<pid>`. */
  readonly holder?: string;
  /** How long shutdown waits for held locks before it fires their signals, ms; integer >= 0. Default 10,000. */
  readonly drainMs?: number;
  /** How long shutdown waits after the signals before it releases the locks, ms; integer >= 0. Default 500. */
  readonly abortGraceMs?: number;
}

/** Module options with every default filled in. */
export type ResolvedLockModuleOptions = Required<LockModuleOptions>;

const KNOWN: KnownOptions<LockModuleOptions> = {
  leaseMs: true,
  waitMs: true,
  pollMs: true,
  redisTimeoutMs: true,
  fenceRetentionMs: true,
  replicas: true,
  replicasTimeoutMs: true,
  holder: true,
  drainMs: true,
  abortGraceMs: true,
};
const KNOWN_PER_CALL: KnownOptions<LockOptions> = {
  leaseMs: true,
  waitMs: true,
  onBusy: true,
  renew: true,
  replicas: true,
  replicasTimeoutMs: true,
  signal: true,
};

const moduleChecks = new Checks('LockModule');
const callChecks = new Checks('LockService');

/**
 * Checks the options and fills in the defaults.
 *
 * @throws InvalidOptionError with the option, its value and what is allowed
 */
export function resolveOptions(options: LockModuleOptions): ResolvedLockModuleOptions {
  moduleChecks.options('', options, KNOWN);
  const holder = options.holder ?? `${hostname().replaceAll('#', '-')}:${process.pid}`;
  return Object.freeze({
    leaseMs: moduleChecks.integer('leaseMs', options.leaseMs ?? 30_000, 10),
    waitMs: moduleChecks.integer('waitMs', options.waitMs ?? 10_000, 0),
    pollMs: moduleChecks.integer('pollMs', options.pollMs ?? 1_000, 1),
    redisTimeoutMs: moduleChecks.integer('redisTimeoutMs', options.redisTimeoutMs ?? 500, 1),
    fenceRetentionMs: moduleChecks.integer('fenceRetentionMs', options.fenceRetentionMs ?? 3_600_000, 1_000),
    replicas: moduleChecks.integer('replicas', options.replicas ?? 0, 0, 100),
    replicasTimeoutMs: moduleChecks.integer('replicasTimeoutMs', options.replicasTimeoutMs ?? 1_000, 1),
    holder: moduleChecks.text('holder', holder, /^[^#]{1,200}$/, 'text of 1 to 200 characters without "#"'),
    drainMs: moduleChecks.integer('drainMs', options.drainMs ?? 10_000, 0),
    abortGraceMs: moduleChecks.integer('abortGraceMs', options.abortGraceMs ?? 500, 0),
  });
}

/** Options of an acquisition with every default filled in, except for `signal`, which has none. */
export type ResolvedLockOptions = Required<Omit<LockOptions, 'signal'>> & Pick<LockOptions, 'signal'>;

/** Checks the options of an acquisition and fills in the defaults. @throws InvalidOptionError like `resolveOptions` */
export function resolveAcquire(options: LockOptions, defaults: ResolvedLockModuleOptions): ResolvedLockOptions {
  const { signal } = callChecks.options('', options, KNOWN_PER_CALL);
  const onBusy = callChecks.choice('onBusy', options.onBusy ?? 'wait', ['wait', 'skip']);
  if (signal !== undefined && !isSignal(signal)) callChecks.refuse('signal', signal, 'an AbortSignal or undefined');
  const waitMs = callChecks.integer('waitMs', options.waitMs ?? (onBusy === 'skip' ? 0 : defaults.waitMs), 0);
  if (onBusy === 'skip' && waitMs > 0) {
    throw callChecks.error(`waitMs is ${waitMs}, but onBusy 'skip' does not wait. Leave one of them out.`);
  }
  return {
    leaseMs: callChecks.integer('leaseMs', options.leaseMs ?? defaults.leaseMs, 10),
    waitMs,
    onBusy,
    renew: callChecks.flag('renew', options.renew ?? true),
    replicas: callChecks.integer('replicas', options.replicas ?? defaults.replicas, 0, 100),
    replicasTimeoutMs: callChecks.integer(
      'replicasTimeoutMs',
      options.replicasTimeoutMs ?? defaults.replicasTimeoutMs,
      1,
    ),
    signal,
  };
}

function isSignal(value: unknown): value is AbortSignal {
  const signal = value as Partial<AbortSignal> | null;
  return typeof signal?.addEventListener === 'function' && typeof signal.aborted === 'boolean';
}
