import type { Checks, KnownOptions } from '../../../internal/src';
import { DEFAULT_TERMS, KNOWN_TERMS, resolveTerms, type ResolvedTerms } from '../once.terms';
import type { ClaimTerms } from '../once.types';

/** Id of the user whom a request comes from; not empty. */
export type Subject = string | number | bigint;

/** Returns the user whom a request comes from; undefined, null or '' if the user is unknown, which is refused with 401. */
export type SubjectResolver = (request: unknown) => Subject | null | undefined | Promise<Subject | null | undefined>;

/** Returns a text that is the same for repeats of a request, and different for requests with other content. */
export type FingerprintResolver = (request: unknown) => string | Promise<string>;

/**
 * Options of a route with `@Idempotent()`. Default of each: the option with the same name in `idempotency` of the module.
 *
 * With `at-most-once`, repeats get 409 after a crash between claim and response, and after an error. With `replicas`,
 * `onRedisError` is applied to a request whose claim too few replicas have; a response is sent when they have it, and after
 * `replicasTimeoutMs` at the latest.
 */
export interface IdempotencyRouteOptions extends ClaimTerms {
  /** True: a request without a key is refused with 400. False: it passes unprotected. Default true. */
  readonly required?: boolean;
  /** True: errors (thrown ones, and statuses of 500 and above) are stored and replayed, too. Default false: they free the key. */
  readonly storeErrors?: boolean;
  /**
   * Maximum size of a stored response with status, headers and body, bytes; integer of 1 to 67,108,864 (64 MiB). Default:
   * `maxResultBytes` of the module.
   */
  readonly maxStoredBytes?: number;
  /**
   * Returns the text that is compared as the content of a request. Method, URL and subject are always compared.
   * Default: the body and uploaded files are compared, JSON by its values.
   */
  readonly fingerprint?: FingerprintResolver;
  /** Response to a repeat while the first request is in progress: `refuse` 409 at once, `wait` the response of the first. Default `refuse`. */
  readonly onInProgress?: 'refuse' | 'wait';
  /** Time that `wait` waits before it replies 409, ms; integer of 1 to 2^31 - 1. Default 10,000. */
  readonly waitMs?: number;
}

/** Options of a route, with all defaults filled in. */
export type ResolvedRouteOptions = Readonly<
  Required<Omit<IdempotencyRouteOptions, 'fingerprint'>> & Pick<IdempotencyRouteOptions, 'fingerprint'>
>;

/** Option `idempotency` of the module: options of HTTP, and defaults of all routes. */
export interface IdempotencyOptions extends IdempotencyRouteOptions {
  /** Returns the user that keys belong to, from a session or a verified token. Required. */
  readonly subject: SubjectResolver;
  /** Name of the request header that has the key. Default `Idempotency-Key`. */
  readonly header?: string;
  /** Reaction if the claim fails in Redis: `refuse` replies 503, `run` runs the handler unprotected. Default `refuse`. */
  readonly onRedisError?: 'refuse' | 'run';
}

/** Options of HTTP, with all defaults filled in. */
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
/** Maximum of `maxResultBytes` and `maxStoredBytes`. */
export const MAX_RESULT_BYTES = 64 * 1_024 * 1_024;

/**
 * Checks the options of a route and fills in those of the module.
 *
 * @throws InvalidOptionError that names the option, its value and what is allowed
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

/** Valid module options, for the check of a route's options before the options of the module are known. */
const ANY_MODULE: ResolvedRouteOptions = {
  ...DEFAULT_TERMS,
  onInProgress: 'refuse',
  waitMs: 1,
  required: true,
  storeErrors: false,
  maxStoredBytes: 1,
};

/** Refuses unknown options and invalid values. @throws InvalidOptionError that names the option */
export function checkRouteOptions(options: IdempotencyRouteOptions, checks: Checks): void {
  resolveRoute(checks.options('', options, KNOWN_OF_ROUTE), ANY_MODULE, checks);
}

/**
 * Checks the options of HTTP and fills in the defaults.
 *
 * @param terms default terms, from the module's options
 * @param maxStoredBytes default of `maxStoredBytes`
 * @param module checks of the module's options
 * @throws InvalidOptionError that names the option, its value and what is allowed
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
