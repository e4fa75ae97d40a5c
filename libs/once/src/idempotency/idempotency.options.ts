import type { Checks, KnownOptions } from '../../../internal/src';
import { DEFAULT_TERMS, KNOWN_TERMS, resolveTerms, type ResolvedTerms } from '../once.terms';
import type { ClaimTerms } from '../once.types';

/** What a subject may be: the id of a user, not empty. */
export type Subject = string | number | bigint;

/** Returns the user on whose behalf a request comes; undefined for an unknown one, who gets 401. */
export type SubjectResolver = (request: unknown) => Subject | null | undefined | Promise<Subject | null | undefined>;

/** Returns a text that repeats of a request share, and requests with other content do not. */
export type FingerprintResolver = (request: unknown) => string | Promise<string>;

/**
 * How `@Idempotent()` treats a route; what a route leaves out is the module's.
 *
 * With `at-most-once` a crash between claim and response, and an error, mean 409 from then on. With `replicas` a request whose
 * claim too few of them had is treated as one that Redis did not answer; a response leaves when they have it, and at the
 * latest after `replicasTimeoutMs`.
 */
export interface IdempotencyRouteOptions extends ClaimTerms {
  /** Whether a request without a key is refused (400); false lets it pass unprotected. Default true. */
  readonly required?: boolean;
  /** Whether errors (thrown ones, and statuses of 500 and above) are stored and replayed as well. Default false: the key is free again. */
  readonly storeErrors?: boolean;
  /** Most bytes of a stored response: status, headers and body; integer of 1 to 64 MiB. Default: the module's maxResultBytes. */
  readonly maxStoredBytes?: number;
  /**
   * Stands for the content of a request, which a repeat must have as well; method, URL and subject are compared besides.
   * Default: body and uploaded files, JSON by its values.
   */
  readonly fingerprint?: FingerprintResolver;
  /** What a repeat gets while the first is in progress: `refuse` is 409 at once, `wait` its response. Default `refuse`. */
  readonly onInProgress?: 'refuse' | 'wait';
  /** How long `wait` waits before 409, ms; integer of 1 to 2^31 - 1. Default 10,000. */
  readonly waitMs?: number;
}

/** A route's settings with nothing left out. */
export type ResolvedRouteOptions = Readonly<
  Required<Omit<IdempotencyRouteOptions, 'fingerprint'>> & Pick<IdempotencyRouteOptions, 'fingerprint'>
>;

/** The module's settings for HTTP. */
export interface IdempotencyOptions extends IdempotencyRouteOptions {
  /** Resolves the subject that keys belong to, from a session or a verified token. Needed by `@Idempotent()`; no default. */
  readonly subject: SubjectResolver;
  /** Name of the request's header. Default `Idempotency-Key`. */
  readonly header?: string;
  /** What happens while Redis does not answer: `refuse` answers 503, `run` runs the handler unprotected. Default `refuse`. */
  readonly onRedisError?: 'refuse' | 'run';
}

/** HTTP settings with every default filled in. */
export type ResolvedIdempotencyOptions = ResolvedRouteOptions &
  Readonly<Required<Omit<IdempotencyOptions, keyof IdempotencyRouteOptions>>>;

const KNOWN_OF_ROUTE: KnownOptions<IdempotencyRouteOptions> = {
  required: true,
  ...KNOWN_TERMS,
  storeErrors: true,
  maxStoredBytes: true,
  fingerprint: true,
  onInProgress: true,
  waitMs: true,
};
const KNOWN_OF_IDEMPOTENCY: KnownOptions<IdempotencyOptions> = {
  subject: true,
  header: true,
  onRedisError: true,
  ...KNOWN_OF_ROUTE,
};
/** Most bytes of a result or a response that may be stored. */
export const MAX_RESULT_BYTES = 64 * 1_024 * 1_024;

/**
 * Checks a route's settings and fills in the module's.
 *
 * @throws InvalidOptionError naming the option, the value and what is allowed
 */
export function resolveRoute(
  options: IdempotencyRouteOptions,
  module: ResolvedRouteOptions,
  checks: Checks,
): ResolvedRouteOptions {
  const fingerprint = options.fingerprint ?? module.fingerprint;
  return Object.freeze({
    ...resolveTerms(options, module, checks),
    fingerprint: checks.optionalFn('fingerprint', fingerprint, 'from the request to a string'),
    onInProgress: checks.choice('onInProgress', options.onInProgress ?? module.onInProgress, ['refuse', 'wait']),
    waitMs: checks.integer('waitMs', options.waitMs ?? module.waitMs, 1),
    required: checks.flag('required', options.required ?? module.required),
    storeErrors: checks.flag('storeErrors', options.storeErrors ?? module.storeErrors),
    maxStoredBytes: checks.integer(
      'maxStoredBytes',
      options.maxStoredBytes ?? module.maxStoredBytes,
      1,
      MAX_RESULT_BYTES,
    ),
  });
}

/** What stands in for a module's settings while a route's own are checked. */
const ANY_MODULE: ResolvedRouteOptions = {
  ...DEFAULT_TERMS,
  onInProgress: 'refuse',
  waitMs: 1,
  required: true,
  storeErrors: false,
  maxStoredBytes: 1,
};

/** Refuses settings that no route knows, or values that none takes. @throws InvalidOptionError naming the option */
export function checkRouteOptions(options: IdempotencyRouteOptions, checks: Checks): void {
  resolveRoute(checks.options('', options, KNOWN_OF_ROUTE), ANY_MODULE, checks);
}

/**
 * Checks the settings for HTTP and fills in the defaults.
 *
 * @param terms the module's
 * @param maxStoredBytes default of that option
 * @param module the module's checks
 * @throws InvalidOptionError naming the option, the value seen and what to do
 */
export function resolveIdempotency(
  options: IdempotencyOptions | undefined,
  terms: ResolvedTerms,
  maxStoredBytes: number,
  module: Checks,
): ResolvedIdempotencyOptions | undefined {
  if (options === undefined) return undefined;
  module.options('idempotency', options, KNOWN_OF_IDEMPOTENCY);
  const checks = module.in('idempotency');
  const { subject, header = 'Idempotency-Key', onRedisError = 'refuse', ...route } = options;
  const defaults: ResolvedRouteOptions = {
    ...terms,
    required: true,
    onInProgress: 'refuse',
    waitMs: 10_000,
    storeErrors: false,
    maxStoredBytes,
  };
  return Object.freeze({
    subject: checks.fn('subject', subject, "from the request to the user's id or undefined"),
    header: checks.text('header', header, /^[\w-]{1,100}$/, 'the name of a header'),
    onRedisError: checks.choice('onRedisError', onRedisError, ['refuse', 'run']),
    ...resolveRoute(route, defaults, checks),
  });
}
