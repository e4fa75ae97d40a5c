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

/** Options of the module, for all acquisitions, and of one acquisition, for itself. */
interface LockTerms {
  /**
   * Length of the lease, ms; integer of 10 to 2^31 - 1. If a process dies, its lock is free after this time at the latest. Default
   * 30,000, or the module's.
   */
  readonly leaseMs?: number;
  /**
   * Longest wait for a lock that others hold or wait for, ms; integer of 0 to 2^31 - 1. Default 10,000, or the module's; 0 with
   * `onBusy: 'skip'`, which accepts no other value.
   */
  readonly waitMs?: number;
}

/** Options of one acquisition. */
export interface LockOptions extends LockTerms {
  /**
   * Behaviour if others hold the lock or wait for it. `wait`: wait up to `waitMs`, then throw LockBusyError. `skip`: do not wait;
   * `withLock` returns undefined without running the work, `acquire` throws LockBusyError. Default `wait`.
   */
  readonly onBusy?: 'wait' | 'skip';
  /** True: the lease is renewed at each third of `leaseMs`, and sooner after a failure, until its release or end. Default true. */
  readonly renew?: boolean;
  /**
   * Signal of the caller that ends the acquisition, which then throws the signal's reason. A lock that Redis grants after that is
   * released. This signal does not end an acquired lock or the work under it; `Lock.signal` reports a lost lock. Default: no
   * signal.
   */
  readonly signal?: AbortSignal;
}

/**
 * Options of LockModule. `replicas`: number of replicas that must have a lock, and each renewal of it. With fewer, the lock is released
 * and NotReplicatedError is thrown; a renewal does not count and is tried again until the lease ends.
 */
export interface LockModuleOptions extends LockTerms, NodeOptions, ReplicaOptions, ShutdownOptions {}

export interface ResolvedLockModuleOptions extends Required<LockModuleOptions> {
  /** Longest pause between two tries of a waiting process, ms. A release shortens it, if the process could subscribe to releases. */
  readonly pollMs: number;
  /**
   * How long after the end of `waitMs` a call to Redis still waits for its reply, ms. With `replicas`, `replicasTimeoutMs` is added.
   * The option `deadlineMs` of ScriptRegistryModule may end a call sooner. A second call may follow: if the acquisition does not
   * wait while others do, or if it releases some of several names.
   */
  readonly deadlineMs: number;
  /** How long Redis keeps the fence of a lock after the end of its lease, ms. */
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
    signal,
  };
}

function isSignal(value: unknown): value is AbortSignal {
  const signal = value as Partial<AbortSignal> | null;
  return typeof signal?.addEventListener === 'function' && typeof signal.aborted === 'boolean';
}
