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

/** Options that the module sets for all locks, and that a single call can override. */
interface LockTerms {
  /**
   * Length of the lease, ms; integer of 10 to 2^31 - 1. If a process dies, its lock is free after this time at the latest. Default: the
   * option of the module, which is 30,000 by default.
   */
  readonly leaseMs?: number;
  /**
   * Longest wait for a lock that others hold or wait for, ms; integer of 0 to 2^31 - 1. Default: the option of the module, which is
   * 10,000 by default. With `onBusy: 'skip'`, the default is 0, and no other value is allowed.
   */
  readonly waitMs?: number;
}

/** Options of a single call that acquires a lock. */
export interface LockOptions extends LockTerms {
  /**
   * Behaviour if others hold the lock or wait for it. `wait`: wait up to `waitMs`, then throw LockBusyError. `skip`: do not wait;
   * `withLock` returns undefined without running the work, `acquire` throws LockBusyError. Default `wait`.
   */
  readonly onBusy?: 'wait' | 'skip';
  /**
   * True to renew the lease after each third of `leaseMs`, and sooner after a failure, until the lock is released or lost. Default
   * true.
   */
  readonly renew?: boolean;
  /**
   * Signal that cancels the attempt to acquire the lock: the call throws the signal's reason, and a lock that Redis grants nevertheless is
   * released. It does not affect a lock that is already acquired; use `Lock.signal` to notice a loss. Default: no signal.
   */
  readonly signal?: AbortSignal;
}

/**
 * Options of LockModule. `replicas`: number of replicas that must have each acquisition and renewal of a lock. If fewer have an
 * acquisition, the lock is released, and NotReplicatedError is thrown. If fewer have a renewal, it counts as failed, and is tried again
 * until the lease ends.
 */
export interface LockModuleOptions extends LockTerms, NodeOptions, ReplicaOptions, ShutdownOptions {}

export interface ResolvedLockModuleOptions extends Required<LockModuleOptions> {
  /** A waiting process tries to acquire the lock at least this often, ms. A reported release makes it try sooner. */
  readonly pollMs: number;
  /**
   * How long a call still waits for the reply of Redis when `waitMs` is over, ms. With `replicas`, `replicasTimeoutMs` is added. The option
   * `deadlineMs` of ScriptRegistryModule may end a call sooner. A second such wait is possible: if `waitMs` is 0 and others wait for the
   * lock, or if only some of several names were acquired and must be released.
   */
  readonly deadlineMs: number;
  /** How long Redis keeps the last fencing token of a lock after the end of its lease, ms. */
  readonly fenceRetentionMs: number;
}

const KNOWN_TERMS: KnownOptions<LockTerms> = { leaseMs: true, waitMs: true };
const KNOWN: KnownOptions<LockModuleOptions> = {
  ...KNOWN_TERMS,
  ...KNOWN_REPLICAS,
  ...KNOWN_NODE,
  ...KNOWN_SHUTDOWN,
};
const KNOWN_PER_CALL: KnownOptions<LockOptions> = { ...KNOWN_TERMS, onBusy: true, renew: true, signal: true };

const moduleChecks = new Checks('LockModule');
const callChecks = new Checks('LockService');

export function resolveOptions(options: LockModuleOptions): ResolvedLockModuleOptions {
  moduleChecks.options('', options, KNOWN);
  return Object.freeze({
    leaseMs: moduleChecks.integer('leaseMs', options.leaseMs ?? 30_000, 10),
    waitMs: moduleChecks.integer('waitMs', options.waitMs ?? 10_000, 0),
    ...resolveReplicas(options, moduleChecks),
    node: resolveNode(options, moduleChecks),
    ...resolveShutdown(options, moduleChecks),
    pollMs: 1_000,
    deadlineMs: 500,
    fenceRetentionMs: 3_600_000,
  });
}

/** Options of a call with the defaults filled in; `signal` has no default. */
export type ResolvedLockOptions = Required<Omit<LockOptions, 'signal'>> & Pick<LockOptions, 'signal'>;

export function resolveAcquire(options: LockOptions, defaults: ResolvedLockModuleOptions): ResolvedLockOptions {
  const { signal } = callChecks.options('', options, KNOWN_PER_CALL);
  const onBusy = callChecks.choice('onBusy', options.onBusy ?? 'wait', ['wait', 'skip']);
  if (signal !== undefined && !isSignal(signal)) callChecks.refuse('signal', signal, 'an AbortSignal or undefined');
  const waitMs = callChecks.integer('waitMs', options.waitMs ?? (onBusy === 'skip' ? 0 : defaults.waitMs), 0);
  if (onBusy === 'skip' && waitMs > 0) {
    throw callChecks.error(
      `waitMs is ${waitMs} ms, but with onBusy: 'skip' the call never waits. Leave out waitMs or onBusy.`,
    );
  }
  return {
    leaseMs: callChecks.integer('leaseMs', options.leaseMs ?? defaults.leaseMs, 10),
    waitMs,
    onBusy,
    renew: callChecks.flag('renew', options.renew ?? true),
    signal,
  };
}

function isSignal(value: unknown): value is AbortSignal {
  const signal = value as Partial<AbortSignal> | null;
  return typeof signal?.addEventListener === 'function' && typeof signal.aborted === 'boolean';
}
