import type { Checks, KnownOptions } from '../../internal/src';
import { type Backoff, type ResolvedBackoff, resolveBackoff } from './backoff';

const DAY_MS = 86_400_000;

/** Number of attempts of work, and the pauses between them. */
export interface AttemptOptions {
  /** Maximum number of attempts that count. When the last one fails, the work is dead-lettered. Integer from 1 to 10,000. Default 5. */
  readonly attempts?: number;
  /** Pauses between attempts; a number is `{ delayMs }`. Default: 1 s, doubled each time, at most 1 hour. */
  readonly backoff?: number | Backoff;
}

/** Options of a worker: the same for tasks, messages and payouts. */
export interface WorkOptions extends AttemptOptions {
  /**
   * Maximum number of handlers that run at the same time in this process; integer from 1 to 10,000. A handler that runs on after `timeoutMs`
   * counts until it ends. Default 50.
   */
  readonly concurrency?: number;
  /**
   * Others may take over the work of a process that has not renewed its lease for this time, ms; integer from 100 to 1 day. Leases
   * are renewed while handlers run. Default 30,000.
   */
  readonly leaseMs?: number;
  /**
   * Longest time that a handler may run, ms; integer from 1 to 2^31 - 1. After that the signal fires, and the handler has `abortGraceMs` to
   * end. If it throws an error, or has not ended by then, the attempt has failed. Default 5 minutes.
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
