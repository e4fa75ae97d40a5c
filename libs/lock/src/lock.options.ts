import { hostname } from 'node:os';
import { Checks, type KnownOptions } from '../../internal/src';

/** Options of one acquisition. */
export interface LockOptions {
  /** Lease: how long a process that died keeps the lock at most, ms; integer of 10 to 2^31 - 1. Default: the module's. */
  readonly leaseMs?: number;
  /**
   * Longest wait for a lock that others hold or wait for, ms; integer of 0 to 2^31 - 1. Default: the module's; 0 with
   * `onBusy: 'skip'`, which accepts no other value.
   */
  readonly waitMs?: number;
  /**
   * Behaviour if others hold the lock or wait for it. `wait`: wait up to `waitMs`, then throw LockBusyError. `skip`: do not wait;
   * `withLock` returns undefined without running the work, `acquire` throws LockBusyError. Default `wait`.
   */
  readonly onBusy?: 'wait' | 'skip';
  /** True: the lease is renewed at each third of `leaseMs`, and sooner after a failure, until its release or end. Default true. */
  readonly renew?: boolean;
  /**
   * Number of replicas that must have the lock within the module's `replicasTimeoutMs`, integer of 0 to 100. With fewer, the lock
   * is released and LockNotReplicatedError is thrown. Default: the module's.
   */
  readonly replicas?: number;
  /**
   * Signal of the caller that ends the acquisition, which then throws the signal's reason. A lock that Redis grants after that is
   * released. This signal does not end an acquired lock or the work under it; `Lock.signal` reports a lost lock. Default: no
   * signal.
   */
  readonly signal?: AbortSignal;
}

/** Options of LockModule. */
export interface LockModuleOptions {
  /** `leaseMs` of acquisitions without one, ms; integer of 10 to 2^31 - 1. Default 30,000. */
  readonly leaseMs?: number;
  /** `waitMs` of acquisitions without one, ms; integer of 0 to 2^31 - 1. Default 10,000. */
  readonly waitMs?: number;
  /**
   * Longest pause between two tries of a waiting process, ms; integer of 1 to 2^31 - 1. A release shortens the pause, if the
   * process could subscribe to releases. Default 1,000.
   */
  readonly pollMs?: number;
  /**
   * How long after the end of `waitMs` a call to Redis still waits for its reply, ms; integer of 1 to 2^31 - 1. With `replicas`,
   * `replicasTimeoutMs` is added. The option `deadlineMs` of ScriptRegistryModule may end a call sooner. A second call may
   * follow: if the acquisition does not wait while others do, or if it releases some of several names. Default 500.
   */
  readonly redisTimeoutMs?: number;
  /** How long Redis keeps the fence of a lock after the end of its lease, ms; integer of 1,000 to 2^31 - 1. Default 1 hour. */
  readonly fenceRetentionMs?: number;
  /** `replicas` of acquisitions without one, integer of 0 to 100. Default 0: WAIT is not used. */
  readonly replicas?: number;
  /** Longest wait for the replicas of an acquisition, ms; integer of 1 to 2^31 - 1. Default 1,000. */
  readonly replicasTimeoutMs?: number;
  /** Name of this process, which `status` returns as `holder`; text of 1 to 200 characters without `#`. Default `<host>:<pid>`. */
  readonly holder?: string;
  /**
   * Longest time that shutdown waits for the release of held locks, ms; then their signals fire. Integer of 0 to 2^31 - 1.
   * Default 10,000.
   */
  readonly drainMs?: number;
  /**
   * Longest time that shutdown waits after the signals until it releases the locks itself, ms; integer of 0 to 2^31 - 1.
   * Default 500.
   */
  readonly abortGraceMs?: number;
}

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
  signal: true,
};

const moduleChecks = new Checks('LockModule');
const callChecks = new Checks('LockService');

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
    holder: moduleChecks.text(
      'holder',
      holder,
      /^[^#\p{Cs}]{1,200}$/u,
      'well-formed text of 1 to 200 characters without "#"',
    ),
    drainMs: moduleChecks.integer('drainMs', options.drainMs ?? 10_000, 0),
    abortGraceMs: moduleChecks.integer('abortGraceMs', options.abortGraceMs ?? 500, 0),
  });
}

/** Options of an acquisition with every default filled in; `signal` has no default. */
export type ResolvedLockOptions = Required<Omit<LockOptions, 'signal'>> & Pick<LockOptions, 'signal'>;

export function resolveAcquire(options: LockOptions, defaults: ResolvedLockModuleOptions): ResolvedLockOptions {
  const { signal } = callChecks.options('', options, KNOWN_PER_CALL);
  const onBusy = callChecks.choice('onBusy', options.onBusy ?? 'wait', ['wait', 'skip']);
  if (signal !== undefined && !isSignal(signal)) callChecks.refuse('signal', signal, 'an AbortSignal or undefined');
  const waitMs = callChecks.integer('waitMs', options.waitMs ?? (onBusy === 'skip' ? 0 : defaults.waitMs), 0);
  if (onBusy === 'skip' && waitMs > 0) {
    throw callChecks.error(`waitMs is ${waitMs}, but onBusy 'skip' does not wait. Leave out waitMs or onBusy.`);
  }
  return {
    leaseMs: callChecks.integer('leaseMs', options.leaseMs ?? defaults.leaseMs, 10),
    waitMs,
    onBusy,
    renew: callChecks.flag('renew', options.renew ?? true),
    replicas: callChecks.integer('replicas', options.replicas ?? defaults.replicas, 0, 100),
    signal,
  };
}

function isSignal(value: unknown): value is AbortSignal {
  const signal = value as Partial<AbortSignal> | null;
  return typeof signal?.addEventListener === 'function' && typeof signal.aborted === 'boolean';
}
