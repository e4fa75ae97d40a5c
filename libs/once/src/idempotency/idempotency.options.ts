import { type Checks, type KnownOptions } from '../../../internal/src';
import { DEFAULT_TERMS, KNOWN_TERMS, resolveTerms, type ResolvedTerms } from '../once.terms';
import type { ClaimTerms } from '../once.types';

/** Option that both the module and a route have. The route's value overrides the module's. */
interface KeyOptions {
  /**
   * True: a request without an idempotency key is refused with 400. False: its handler runs without protection. Default for the module:
   * true. Default for a route: the value of the module.
   */
  readonly required?: boolean;
}

/** Id of the user who sent a request; undefined, null or '' if the user is unknown. */
export type Subject = string | number | bigint | null | undefined;

/**
 * Options of a route with `@Idempotent()`. With `delivery: 'at-most-once'`, a repeat gets 409 if the process crashed before the response
 * was stored, or if the handler failed and error responses are not stored.
 */
export interface IdempotencyRouteOptions extends KeyOptions, ClaimTerms {
  /**
   * True: error responses (of a thrown error, or with a status of 500 or above) are stored and replayed, too. False: a repeat of a failed
   * request runs the handler again; with `at-most-once`, it gets 409. Default false.
   */
  readonly storeErrors?: boolean;
  /**
   * Returns a text by which the content of a request is compared with its repeats. Method, URL and user are always compared, too.
   * Default: the body and the uploaded files are compared. JSON is compared by its values, not by its text. A request whose content cannot
   * be compared, such as a body that was not parsed or a file that is not in memory, gets 415.
   */
  readonly fingerprint?: (request: unknown) => string | Promise<string>;
}

type ModuleSettings = ResolvedTerms & {
  readonly required: boolean;
  /** Maximum size of a stored response with status, headers and body, bytes. */
  readonly maxStoredBytes: number;
};

export type ResolvedRouteOptions = ModuleSettings &
  Readonly<Required<Pick<IdempotencyRouteOptions, 'storeErrors'>>> &
  Pick<IdempotencyRouteOptions, 'fingerprint'> & {
    /** Times and delivery of the claims of this route. The object is frozen, so that OnceService checks it only once. */
    readonly terms: Readonly<Required<ClaimTerms>>;
  };

/** Option `idempotency` of OnceModule: how to find the user of a request, and the defaults of all routes. */
export interface IdempotencyOptions extends KeyOptions {
  /**
   * Returns the id of the user who sent a request, from a session or a verified token, because each user has idempotency keys of their own.
   * If it returns undefined, null or '', the user is unknown, and the route replies 401. Required.
   */
  readonly subject: (request: unknown) => Subject | Promise<Subject>;
  /** Name of the request header with the idempotency key. Default `Idempotency-Key`. */
  readonly header?: string;
  /**
   * Reaction to a key that cannot be claimed, because Redis was unavailable or refused the claim, or because too few replicas have it.
   * `refuse`: reply 503. `run`: run the handler without protection. Default `refuse`.
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
 * Checks the options of a route, and fills in the missing ones from the options of the module.
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
 * Stands for the options of the module while a decorator checks the options of a route. At that time, when the class is loaded, the module
 * does not exist.
 */
const ANY_MODULE: ModuleSettings = { ...DEFAULT_TERMS, required: true, maxStoredBytes: 1 };

/** Checks the options of a route for unknown names and invalid values. @throws InvalidOptionError that names the option */
export function checkRouteOptions(options: IdempotencyRouteOptions, checks: Checks): void {
  resolveRoute(checks.options('', options, KNOWN_OF_ROUTE), ANY_MODULE, checks);
}

/**
 * Checks the option `idempotency` and fills in the defaults.
 *
 * @param terms times, delivery and replicas from the module's options, as defaults
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
      'that returns the id of the user of a request, and undefined for a request without a user',
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
