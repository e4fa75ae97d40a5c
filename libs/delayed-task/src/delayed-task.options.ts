import { Checks, KNOWN_SHUTDOWN, resolveShutdown, type KnownOptions, type ShutdownOptions } from '../../internal/src';
import { type Backoff, type ResolvedBackoff, resolveBackoff, workOption } from '../../worker/src';

/** Options of DelayedTaskModule. */
export interface DelayedTaskModuleOptions extends ShutdownOptions {
  /** Name of the queue; 1 to 100 letters, digits, `.`, `_` or `-`. Default `default`. */
  readonly namespace?: string;
  /**
   * Partitions over which the queue is sharded; integer from 1 to 256. Do not change it while the queue holds tasks. Default 1.
   */
  readonly partitions?: number;
  /** Most tasks that run at the same time in this process; integer from 1 to 10,000. Default 50. */
  readonly concurrency?: number;
  /** True if this process runs tasks. Default: true if it has a handler. */
  readonly work?: boolean;
  /**
   * How long a worker leases a task, ms; integer from 100 to 1 day. The worker renews the lease while the handler runs. If the
   * worker dies, others take the task when the lease ends, or dead-letter it after its last attempt. Default 30,000.
   */
  readonly leaseMs?: number;
  /** Most attempts of a task that does not set `attempts`; integer from 1 to 10,000. Default 5. */
  readonly attempts?: number;
  /**
   * Pauses between the attempts of a task that does not set `backoff`; a number is `{ delayMs }`. Default: 1 s, doubled each
   * time, at most 1 hour.
   */
  readonly backoff?: number | Backoff;
  /** How long an attempt may take if its handler does not set `timeoutMs`, ms; integer from 1 to 2^31 - 1. Default 5 minutes. */
  readonly timeoutMs?: number;
  /** How long a result is kept if the task does not set `keepResultMs`, ms; integer from 0 to 100 years. Default 0: not kept. */
  readonly keepResultMs?: number;
  /** Most bytes of a payload, and of a result, as JSON; integer from 1 to 16 MiB. Default 65,536. */
  readonly maxPayloadBytes?: number;
  /** Age at which a sweep deletes a dead letter, ms; integer from 1 s to 100 years. Default 30 days. */
  readonly deadRetentionMs?: number;
}

/** Options with the defaults filled in; `work` as given. */
export interface ResolvedDelayedTaskOptions extends Required<Omit<DelayedTaskModuleOptions, 'backoff' | 'work'>> {
  readonly backoff: ResolvedBackoff;
  readonly work: boolean | undefined;
}

/** Longest delay and longest retention: 100 years, ms. */
export const MAX_DURATION_MS = 36_500 * 86_400_000;
const DAY_MS = 86_400_000;

const KNOWN: KnownOptions<DelayedTaskModuleOptions> = {
  namespace: true,
  partitions: true,
  concurrency: true,
  work: true,
  leaseMs: true,
  attempts: true,
  backoff: true,
  timeoutMs: true,
  keepResultMs: true,
  maxPayloadBytes: true,
  deadRetentionMs: true,
  ...KNOWN_SHUTDOWN,
};

const checks = new Checks('DelayedTaskModule');

export function checkKeep(value: unknown, where: Checks): number {
  return where.integer('keepResultMs', value, 0, MAX_DURATION_MS);
}

export function resolveOptions(options: DelayedTaskModuleOptions): ResolvedDelayedTaskOptions {
  checks.options('', options, KNOWN);
  const { namespace = 'default' } = options;
  return Object.freeze({
    namespace: checks.text('namespace', namespace, /^[\w.-]{1,100}$/, '1 to 100 letters, digits, ".", "_" or "-"'),
    partitions: checks.integer('partitions', options.partitions ?? 1, 1, 256),
    concurrency: workOption(checks, 'concurrency', options.concurrency),
    work: options.work === undefined ? undefined : checks.flag('work', options.work),
    leaseMs: workOption(checks, 'leaseMs', options.leaseMs),
    attempts: workOption(checks, 'attempts', options.attempts),
    backoff: resolveBackoff(options.backoff ?? 1_000, checks),
    timeoutMs: workOption(checks, 'timeoutMs', options.timeoutMs),
    keepResultMs: checkKeep(options.keepResultMs ?? 0, checks),
    maxPayloadBytes: checks.integer('maxPayloadBytes', options.maxPayloadBytes ?? 65_536, 1, 16 * 1_024 * 1_024),
    deadRetentionMs: checks.integer('deadRetentionMs', options.deadRetentionMs ?? 30 * DAY_MS, 1_000, MAX_DURATION_MS),
    ...resolveShutdown(options, checks),
  });
}
