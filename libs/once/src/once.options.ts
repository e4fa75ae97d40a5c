import { Checks, type KnownOptions } from '../../internal/src';
import {
  MAX_RESULT_BYTES,
  resolveIdempotency,
  type IdempotencyOptions,
  type ResolvedIdempotencyOptions,
} from './idempotency/idempotency.options';
import { DEFAULT_TERMS, KNOWN_TERMS, resolveTerms, type ResolvedTerms } from './once.terms';
import type { ClaimTerms } from './once.types';

const checks = new Checks('OnceModule');

export const ONCE_OPTIONS = Symbol('luanest:once-options');

/**
 * Options of OnceModule. `leaseMs` to `replicasTimeoutMs` are the defaults of each claim, run, `@Once()` and `@Idempotent()`.
 */
export interface OnceModuleOptions extends ClaimTerms {
  /** Maximum size of a stored result as JSON, bytes; integer from 1 to 67,108,864 (64 MiB). Default 65,536. */
  readonly maxResultBytes?: number;
  /** Time for which a shutdown waits for runs before it fires their signals, ms; integer from 0 to 2^31 - 1. Default 10,000. */
  readonly drainMs?: number;
  /** Time for which a shutdown waits after it fired the signals, ms; integer from 0 to 2^31 - 1. Default 500. */
  readonly abortGraceMs?: number;
  /** Options of idempotent HTTP routes. Without them, an app with `@Idempotent()` does not boot. */
  readonly idempotency?: IdempotencyOptions;
}

export interface ResolvedOnceModuleOptions extends ResolvedTerms {
  readonly maxResultBytes: number;
  readonly drainMs: number;
  readonly abortGraceMs: number;
  readonly idempotency: ResolvedIdempotencyOptions | undefined;
}

const KNOWN: KnownOptions<OnceModuleOptions> = {
  ...KNOWN_TERMS,
  maxResultBytes: true,
  drainMs: true,
  abortGraceMs: true,
  idempotency: true,
};

export function resolveOptions(options: OnceModuleOptions): ResolvedOnceModuleOptions {
  checks.options('', options, KNOWN);
  const terms = resolveTerms(options, DEFAULT_TERMS, checks);
  const maxResultBytes = checks.integer('maxResultBytes', options.maxResultBytes ?? 65_536, 1, MAX_RESULT_BYTES);
  return Object.freeze({
    ...terms,
    maxResultBytes,
    drainMs: checks.integer('drainMs', options.drainMs ?? 10_000, 0),
    abortGraceMs: checks.integer('abortGraceMs', options.abortGraceMs ?? 500, 0),
    idempotency: resolveIdempotency(options.idempotency, terms, maxResultBytes, checks),
  });
}
