import type { Checks, KnownOptions } from '../../internal/src';
import { type Backoff, type ResolvedBackoff, resolveBackoff } from './backoff';

const DAY_MS = 86_400_000;

/** Retry options of a task, a message or a payout: the number of attempts, and the pauses between them. */
export interface AttemptOptions {
  /**
   * Maximum number of attempts; integer from 1 to 10,000. When the last attempt fails, the task or message is dead-lettered. Attempts
   * that ended with `countsAsAttempt: false` do not count. Default 5.
   */
  readonly attempts?: number;
  /** Pauses between attempts. A number means `{ delayMs }`, ms. Default: 1,000 ms, doubled after each attempt, at most 1 hour. */
  readonly backoff?: number | Backoff;
}

/** Options of a worker, which runs handlers of tasks or messages, or payouts. */
export interface WorkOptions extends AttemptOptions {
  /**
   * Maximum number of handlers that run at the same time in this process; integer from 1 to 10,000. A handler that still runs after
   * `timeoutMs` counts until it ends. Default 50.
   */
  readonly concurrency?: number;
  /**
   * Length of the lease of a task or message, ms; integer from 100 to 86,400,000 (1 day). The process renews the lease while the handler
   * runs. If the process has not renewed the lease for this time, for example because it died, other processes may take over the work.
   * Default 30,000.
   */
  readonly leaseMs?: number;
  /**
   * Longest time that a handler may run, ms; integer from 1 to 2^31 - 1. After this time its AbortSignal is aborted, and the handler has
   * `abortGraceMs` more to end. If the handler then throws an error, or still runs after `abortGraceMs`, the attempt has failed. Default
   * 300,000 (5 minutes).
   */
  readonly timeoutMs?: number;
}

export type ResolvedWork = Readonly<Required<Omit<WorkOptions, 'backoff'>>> & { readonly backoff: ResolvedBackoff };

export const KNOWN_ATTEMPTS: KnownOptions<AttemptOptions> = { attempts: true, backoff: true };
export const KNOWN_WORK: KnownOptions<WorkOptions> = {
  concurrency: true,
  leaseMs: true,
  ...KNOWN_ATTEMPTS,
  timeoutMs: true,
};

const DEFAULTS: ResolvedWork = {
  concurrency: 50,
  leaseMs: 30_000,
  attempts: 5,
  backoff: { delayMs: 1_000, factor: 2, maxDelayMs: 3_600_000 },
  timeoutMs: 300_000,
};

export function checkAttempts(where: Checks, attempts: unknown): number {
  return where.integer('attempts', attempts, 1, 10_000);
}

export function checkTimeout(where: Checks, timeoutMs: unknown): number {
  return where.integer('timeoutMs', timeoutMs, 1);
}

/** Checks the options of a worker and fills in the defaults. @throws the error of `where` for an invalid option */
export function resolveWork(options: WorkOptions, where: Checks, defaults: ResolvedWork = DEFAULTS): ResolvedWork {
  return {
    concurrency: where.integer('concurrency', options.concurrency ?? defaults.concurrency, 1, 10_000),
    leaseMs: where.integer('leaseMs', options.leaseMs ?? defaults.leaseMs, 100, DAY_MS),
    attempts: checkAttempts(where, options.attempts ?? defaults.attempts),
    backoff: options.backoff === undefined ? defaults.backoff : resolveBackoff(options.backoff, where),
    timeoutMs: checkTimeout(where, options.timeoutMs ?? defaults.timeoutMs),
  };
}
