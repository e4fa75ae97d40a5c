import { InvalidOptionError, shown } from 'luanest/script-registry';
import { checkFlag, checkInteger, checkOptions, type KnownOptions } from '../../../internal/src';
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
  readonly whenRedisFails?: 'refuse' | 'run';
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
  whenRedisFails: true,
  ...KNOWN_OF_ROUTE,
};
/** Most bytes of a result or a response that may be stored. */
export const MAX_RESULT_BYTES = 64 * 1_024 * 1_024;

function refuse(name: string, value: unknown, remedy: string): never {
  throw new InvalidOptionError(`${name} is ${shown(value)}. ${remedy}`);
}

/**
 * Checks a route's settings and fills in the module's.
 *
 * @throws InvalidOptionError naming the option, the value seen and what to do
 */
export function resolveRoute(options: IdempotencyRouteOptions, module: ResolvedRouteOptions): ResolvedRouteOptions {
  const { fingerprint = module.fingerprint, onInProgress = module.onInProgress } = options;
  if (fingerprint !== undefined && typeof fingerprint !== 'function') {
    refuse('idempotency.fingerprint', fingerprint, 'Give a function from the request to a string.');
  }
  if (!['refuse', 'wait'].includes(onInProgress)) {
    refuse('idempotency.onInProgress', onInProgress, "Give 'refuse' or 'wait'.");
  }
  return Object.freeze({
    ...resolveTerms('idempotency.', options, module),
    fingerprint,
    onInProgress,
    waitMs: checkInteger('idempotency.waitMs', options.waitMs ?? module.waitMs, 1),
    required: checkFlag('idempotency.required', options.required ?? module.required),
    storeErrors: checkFlag('idempotency.storeErrors', options.storeErrors ?? module.storeErrors),
    maxStoredBytes: checkInteger(
      'idempotency.maxStoredBytes',
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
export function checkRouteOptions(options: IdempotencyRouteOptions): void {
  checkOptions('@Idempotent()', options, KNOWN_OF_ROUTE);
  resolveRoute(options, ANY_MODULE);
}

/**
 * Checks the settings for HTTP and fills in the defaults.
 *
 * @param terms the module's
 * @param maxStoredBytes default of that option
 * @throws InvalidOptionError naming the option, the value seen and what to do
 */
export function resolveIdempotency(
  options: IdempotencyOptions | undefined,
  terms: ResolvedTerms,
  maxStoredBytes: number,
): ResolvedIdempotencyOptions | undefined {
  if (options === undefined) return undefined;
  checkOptions('idempotency', options, KNOWN_OF_IDEMPOTENCY);
  const { subject, header = 'Idempotency-Key', whenRedisFails = 'refuse', ...route } = options;
  if (typeof subject !== 'function') {
    refuse('idempotency.subject', subject, "Give a function from the request to the user's id or undefined.");
  }
  if (typeof header !== 'string' || !/^[\w-]{1,100}$/.test(header)) {
    refuse('idempotency.header', header, 'Give the name of a header.');
  }
  if (!['refuse', 'run'].includes(whenRedisFails)) {
    refuse('idempotency.whenRedisFails', whenRedisFails, "Give 'refuse' or 'run'.");
  }
  const defaults: ResolvedRouteOptions = {
    ...terms,
    required: true,
    onInProgress: 'refuse',
    waitMs: 10_000,
    storeErrors: false,
    maxStoredBytes,
  };
  return Object.freeze({ subject, header, whenRedisFails, ...resolveRoute(route, defaults) });
}
