import { hostname } from 'node:os';
import { InvalidOptionError, shown } from 'luanest/script-registry';

/** Options of one acquisition. */
export interface LockOptions {
  /** How long the lock outlives a holder that dies, ms; integer of 10 to 2^31 - 1. Default: the module's. */
  readonly leaseMs?: number;
  /** How long to wait for others, ms; integer >= 0. Default: the module's. Not used by `tryAcquire`. */
  readonly waitMs?: number;
  /** What to do when others hold it: `wait` up to `waitMs`, or `skip`. Default `wait`. Not used by `tryAcquire`. */
  readonly onBusy?: 'wait' | 'skip';
  /** Whether the lease is renewed until release. Default true. */
  readonly renew?: boolean;
  /** Replicas that must have the lock before it counts, integer >= 0. Default: the module's. */
  readonly replicas?: number;
  /** How long to wait for the replicas, ms; integer >= 1. Default: the module's. */
  readonly replicasTimeoutMs?: number;
}

/** Options of LockModule. */
export interface LockModuleOptions {
  /** Default of `leaseMs`. Default 30,000. */
  readonly leaseMs?: number;
  /** Default of `waitMs`. Default 10,000. */
  readonly waitMs?: number;
  /** Longest pause between two tries while waiting, ms; integer >= 1. A release wakes at once. Default 1,000. */
  readonly pollMs?: number;
  /** How long a lock's fence is kept after its lease, ms; integer >= 1,000. Default 1 hour. */
  readonly fenceRetentionMs?: number;
  /** Default of `replicas`. Default 0: WAIT is not used. */
  readonly replicas?: number;
  /** Default of `replicasTimeoutMs`. Default 1,000. */
  readonly replicasTimeoutMs?: number;
  /** Who `status` says holds a lock; text of 1 to 200 characters without `#`. Default `<host>:<pid>`. */
  readonly holder?: string;
  /**
   * Whether the event loop is kept awake for up to 0.15 ms while a lone acquisition or release is out, where answers
   * come that fast. Default true.
   */
  readonly promptAnswers?: boolean;
}

/** Options with every default filled in. */
export type ResolvedLockModuleOptions = Required<LockModuleOptions>;

const MAX_MS = 2 ** 31 - 1;

/** Refuses what is no integer of the range. @throws InvalidOptionError naming the option, the value and the remedy */
export function checkInt(name: string, value: unknown, min: number, max = MAX_MS): number {
  if (!Number.isSafeInteger(value) || (value as number) < min || (value as number) > max) {
    throw new InvalidOptionError(`${name} is ${shown(value)}. Give an integer of ${min} to ${max}.`);
  }
  return value as number;
}

/**
 * Checks the options and fills in the defaults.
 *
 * @throws InvalidOptionError naming the option, the value seen and what to do
 */
export function resolveOptions(options: LockModuleOptions = {}): ResolvedLockModuleOptions {
  const holder = options.holder ?? `${hostname().replaceAll('#', '-')}:${process.pid}`;
  if (typeof holder !== 'string' || holder === '' || holder.length > 200 || holder.includes('#')) {
    throw new InvalidOptionError(`holder is ${shown(holder)}. Give a text of 1 to 200 characters without "#".`);
  }
  const promptAnswers = options.promptAnswers ?? true;
  if (typeof promptAnswers !== 'boolean') {
    throw new InvalidOptionError(`promptAnswers is ${shown(promptAnswers)}. Give true or false.`);
  }
  return Object.freeze({
    leaseMs: checkInt('leaseMs', options.leaseMs ?? 30_000, 10),
    waitMs: checkInt('waitMs', options.waitMs ?? 10_000, 0),
    pollMs: checkInt('pollMs', options.pollMs ?? 1_000, 1),
    fenceRetentionMs: checkInt('fenceRetentionMs', options.fenceRetentionMs ?? 3_600_000, 1_000),
    replicas: checkInt('replicas', options.replicas ?? 0, 0, 100),
    replicasTimeoutMs: checkInt('replicasTimeoutMs', options.replicasTimeoutMs ?? 1_000, 1),
    holder,
    promptAnswers,
  });
}

/** Options of an acquisition with every default filled in. @throws InvalidOptionError as `resolveOptions` */
export function resolveAcquire(options: LockOptions, defaults: ResolvedLockModuleOptions): Required<LockOptions> {
  const { onBusy = 'wait', renew = true } = options;
  if (onBusy !== 'wait' && onBusy !== 'skip') {
    throw new InvalidOptionError(`onBusy is ${shown(onBusy)}. Give 'wait' or 'skip'.`);
  }
  return {
    leaseMs: checkInt('leaseMs', options.leaseMs ?? defaults.leaseMs, 10),
    waitMs: onBusy === 'skip' ? 0 : checkInt('waitMs', options.waitMs ?? defaults.waitMs, 0),
    onBusy,
    renew,
    replicas: checkInt('replicas', options.replicas ?? defaults.replicas, 0, 100),
    replicasTimeoutMs: checkInt('replicasTimeoutMs', options.replicasTimeoutMs ?? defaults.replicasTimeoutMs, 1),
  };
}
