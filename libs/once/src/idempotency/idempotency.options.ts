import { type Checks, type KnownOptions } from '../../../internal/src';
import { DEFAULT_TERMS, KNOWN_TERMS, resolveTerms, type ResolvedTerms } from '../once.terms';
import type { ClaimTerms } from '../once.types';

/** Options of the module, for all routes, and of one route, for itself. */
interface KeyOptions {
  /** True: a request without a key is refused with 400. False: the handler runs for it without protection. Default true, or the module's. */
  readonly required?: boolean;
}

/** Id of the user who sent a request; undefined, null or '' if the user is unknown. */
export type Subject = string | number | bigint | null | undefined;

/**
 * Options of a route with `@Idempotent()`. With `delivery: 'at-most-once'`, repeats get 409 after a crash between claim and response,
 * and after an error of the handler that was not stored.
 */
export interface IdempotencyRouteOptions extends KeyOptions, ClaimTerms {
  /**
   * True: the responses of thrown errors, and statuses of 500 and above, are stored and replayed, too. False: such a response
   * frees the key, so that a repeat runs the handler again; with `at-most-once` a repeat gets 409. Default false.
   */
  readonly storeErrors?: boolean;
  /**
   * Returns a text that is the same for a request and its repeats, and different for a request with other content. Method, URL
   * and user are always compared, too. Default: the body and the uploaded files are compared; JSON by its values. A request
   * whose content cannot be compared, such as a body that was not parsed or a file that is not in memory, gets 415.
   */
  readonly fingerprint?: (request: unknown) => string | Promise<string>;
}

/** Settings that all routes have from the module. */
type ModuleSettings = ResolvedTerms & {
  readonly required: boolean;
  /** Maximum size of a stored response with status, headers and body, bytes. */
  readonly maxStoredBytes: number;
};

export type ResolvedRouteOptions = ModuleSettings &
  Readonly<Required<Pick<IdempotencyRouteOptions, 'storeErrors'>>> &
  Pick<IdempotencyRouteOptions, 'fingerprint'> & {
    /** The terms of a claim. They are frozen, so that OnceService checks them once. */
    readonly terms: Readonly<Required<ClaimTerms>>;
  };

/** Option `idempotency` of OnceModule: the user of a request, and what applies to all routes. */
export interface IdempotencyOptions extends KeyOptions {
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

export type ResolvedIdempotencyOptions = ResolvedRouteOptions & Readonly<Required<IdempotencyOptions>>;

const KNOWN_KEY: KnownOptions<KeyOptions> = { required: true };
const KNOWN_OF_ROUTE: KnownOptions<IdempotencyRouteOptions> = {
  ...KNOWN_KEY,
  ...KNOWN_TERMS,
  storeErrors: true,
  fingerprint: true,
};
const KNOWN_OF_IDEMPOTENCY: KnownOptions<IdempotencyOptions> = {
  subject: true,
  header: true,
  onRedisError: true,
  ...KNOWN_KEY,
};

/**
 * Checks the options of a route and fills in the options of the module.
 *
 * @throws InvalidOptionError that names the option, its value and what is allowed
 */
export function resolveRoute(
  options: IdempotencyRouteOptions,
  module: ModuleSettings,
  checks: Checks,
): ResolvedRouteOptions {
  const all = resolveTerms(options, module, checks);
  const { leaseMs, retentionMs, delivery } = all;
  return Object.freeze({
    ...all,
    terms: Object.freeze({ leaseMs, retentionMs, delivery }),
    fingerprint: checks.optionalFn('fingerprint', options.fingerprint, 'from the request to a string'),
    required: checks.flag('required', options.required ?? module.required),
    storeErrors: checks.flag('storeErrors', options.storeErrors ?? false),
    maxStoredBytes: module.maxStoredBytes,
  });
}

/**
 * Any valid options of the module. The options of a route are checked with them when the class is loaded, before the module
 * exists.
 */
const ANY_MODULE: ModuleSettings = { ...DEFAULT_TERMS, required: true, maxStoredBytes: 1 };

/** Refuses unknown options and invalid values. @throws InvalidOptionError that names the option */
export function checkRouteOptions(options: IdempotencyRouteOptions, checks: Checks): void {
  resolveRoute(checks.options('', options, KNOWN_OF_ROUTE), ANY_MODULE, checks);
}

/**
 * Checks the option `idempotency` and fills in the defaults.
 *
 * @param terms default terms, from the module's options
 * @param maxStoredBytes `maxResultBytes` of the module
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
  const { subject, header = 'Idempotency-Key', onRedisError = 'refuse', required = true } = options;
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
    ...resolveRoute({ required }, { ...terms, required: true, maxStoredBytes }, checks),
  });
}
