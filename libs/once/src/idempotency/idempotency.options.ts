import { type Checks, type KnownOptions } from '../../../internal/src';
import { DEFAULT_TERMS, KNOWN_TERMS, resolveTerms, type ResolvedTerms } from '../once.terms';
import type { ClaimTerms } from '../once.types';

/** Id of the user who sent a request; undefined, null or '' if the user is unknown. */
export type Subject = string | number | bigint | null | undefined;

/**
 * Options of a route with `@Idempotent()`. Each option that is missing has the value of the same option in `idempotency` of
 * OnceModule; the defaults below are the defaults there.
 *
 * With `delivery: 'at-most-once'`, repeats get 409 after a crash between claim and response, and after an error of the handler that
 * was not stored. With `replicas`, `onRedisError` also applies if too few replicas have the claim in time; and a response that is
 * stored waits for the replicas, up to `replicasTimeoutMs`, and is then sent in any case.
 */
export interface IdempotencyRouteOptions extends ClaimTerms {
  /** True: a request without a key is refused with 400. False: the handler runs for it without protection. Default true. */
  readonly required?: boolean;
  /**
   * True: the responses of thrown errors, and statuses of 500 and above, are stored and replayed, too. False: such a response
   * frees the key, so that a repeat runs the handler again; with `at-most-once` a repeat gets 409. Default false.
   */
  readonly storeErrors?: boolean;
  /**
   * Maximum size of a stored response with status, headers and body, bytes; integer from 1 to 67,108,864 (64 MiB). Default:
   * `maxResultBytes` of the module.
   */
  readonly maxStoredBytes?: number;
  /**
   * Returns a text that is the same for a request and its repeats, and different for a request with other content. Method, URL
   * and user are always compared, too. Default: the body and the uploaded files are compared; JSON by its values. A request
   * whose content cannot be compared, such as a body that was not parsed or a file that is not in memory, gets 415.
   */
  readonly fingerprint?: (request: unknown) => string | Promise<string>;
  /**
   * Time for which a repeat waits for the response of the first request while that is in progress, ms; integer from 0 to
   * 2^31 - 1. After this time, with 0 at once, the repeat gets 409. Default 0.
   */
  readonly waitMs?: number;
}

type ResolvedOptions = Readonly<
  Required<Omit<IdempotencyRouteOptions, 'fingerprint'>> & Pick<IdempotencyRouteOptions, 'fingerprint'>
>;

export type ResolvedRouteOptions = ResolvedOptions & {
  /** The terms of a claim. They are frozen, so that OnceService checks them once. */
  readonly terms: ResolvedTerms;
};

/** Option `idempotency` of OnceModule: the user of a request, and the defaults of all routes with `@Idempotent()`. */
export interface IdempotencyOptions extends IdempotencyRouteOptions {
  /**
   * Returns the id of the user who sent a request, from a session or a verified token. Each user has their own keys. If it
   * returns undefined, null or '', the user is unknown and the route replies 401. Required.
   */
  readonly subject: (request: unknown) => Subject | Promise<Subject>;
  /** Name of the request header with the idempotency key. Default `Idempotency-Key`. */
  readonly header?: string;
  /**
   * Reaction if Redis is unavailable at the claim or refuses it, or if too few replicas have the claim: `refuse` replies 503,
   * `run` runs the handler without protection. Default `refuse`.
   */
  readonly onRedisError?: 'refuse' | 'run';
}

export type ResolvedIdempotencyOptions = ResolvedRouteOptions &
  Readonly<Required<Omit<IdempotencyOptions, keyof IdempotencyRouteOptions>>>;

const KNOWN_OF_ROUTE: KnownOptions<IdempotencyRouteOptions> = {
  required: true,
  ...KNOWN_TERMS,
  storeErrors: true,
  maxStoredBytes: true,
  fingerprint: true,
  waitMs: true,
};
const KNOWN_OF_IDEMPOTENCY: KnownOptions<IdempotencyOptions> = {
  subject: true,
  header: true,
  onRedisError: true,
  ...KNOWN_OF_ROUTE,
};
export const MAX_RESULT_BYTES = 64 * 1_024 * 1_024;

/**
 * Checks the options of a route and fills in the options of the module.
 *
 * @throws InvalidOptionError that names the option, its value and what is allowed
 */
export function resolveRoute(
  options: IdempotencyRouteOptions,
  module: ResolvedOptions,
  checks: Checks,
): ResolvedRouteOptions {
  const terms = Object.freeze(resolveTerms(options, module, checks));
  const fingerprint = options.fingerprint ?? module.fingerprint;
  return Object.freeze({
    ...terms,
    terms,
    fingerprint: checks.optionalFn('fingerprint', fingerprint, 'from the request to a string'),
    waitMs: checks.integer('waitMs', options.waitMs ?? module.waitMs, 0),
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

/**
 * Any valid options of the module. The options of a route are checked with them when the class is loaded, before the module
 * exists.
 */
const ANY_MODULE: ResolvedOptions = {
  ...DEFAULT_TERMS,
  waitMs: 0,
  required: true,
  storeErrors: false,
  maxStoredBytes: 1,
};

/** Refuses unknown options and invalid values. @throws InvalidOptionError that names the option */
export function checkRouteOptions(options: IdempotencyRouteOptions, checks: Checks): void {
  resolveRoute(checks.options('', options, KNOWN_OF_ROUTE), ANY_MODULE, checks);
}

/**
 * Checks the option `idempotency` and fills in the defaults.
 *
 * @param terms default terms, from the module's options
 * @param maxStoredBytes default of the option `maxStoredBytes`
 * @param module checks for the options of OnceModule
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
  const defaults: ResolvedOptions = {
    ...terms,
    required: true,
    waitMs: 0,
    storeErrors: false,
    maxStoredBytes,
  };
  return Object.freeze({
    subject: checks.fn(
      'subject',
      subject,
      'that returns the id of the user of a request, and undefined for a request without one',
    ),
    header: checks.text(
      'header',
      header,
      /^[\w-]{1,100}$/,
      'the name of a header: 1 to 100 letters, digits, "-" or "_"',
    ),
    onRedisError: checks.choice('onRedisError', onRedisError, ['refuse', 'run']),
    ...resolveRoute(route, defaults, checks),
  });
}
