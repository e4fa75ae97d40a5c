import { InvalidOptionError, shown } from 'luanest/script-registry';
import { checkFlag, checkInteger, checkOptions, type KnownOptions } from '../../script-registry/src/shared/checks';
import { isDelivery, isDuration, MAX_DURATION_MS } from './once.input';
import type { Delivery } from './once.types';

/** Tells on whose behalf a request comes; undefined for nobody known, who is answered 401. */
export type SubjectResolver = (request: unknown) => string | undefined | Promise<string | undefined>;

/** How `@Idempotent()` treats a route; what a route leaves out is the module's. */
export interface IdempotencyRouteOptions {
  /** Whether a request without a key is refused (400); false lets it pass unprotected. Default true. */
  readonly required?: boolean;
  /** How long a handler has before its claim must be renewed, ms; it is renewed while the process lives. Default: the module's leaseMs. */
  readonly leaseMs?: number;
  /** How long a response is kept, ms. Default: the module's retentionMs. */
  readonly retentionMs?: number;
  /**
   * What a crash between claim and response means: `at-least-once` runs the handler again when the lease is over,
   * `at-most-once` answers 409 from then on, also after an error. Default: the module's delivery.
   */
  readonly delivery?: Delivery;
  /** Whether errors (thrown ones, and statuses of 500 and above) are stored and replayed as well. Default false: the key is free again. */
  readonly storeErrors?: boolean;
  /** Most bytes of a stored response: status, headers and body; integer of 1 to 64 MiB. Default: the module's maxResultBytes. */
  readonly maxStoredBytes?: number;
}

/** The module's settings for HTTP. */
export interface IdempotencyOptions extends IdempotencyRouteOptions {
  /** Resolves the subject that keys belong to, from a session or a verified token. Needed by `@Idempotent()`; no default. */
  readonly subject: SubjectResolver;
  /** Name of the request's header. Default `Idempotency-Key`. */
  readonly header?: string;
  /** What happens while Redis does not answer: `refuse` answers 503, `run` runs the handler unprotected. Default `refuse`. */
  readonly whenRedisFails?: 'refuse' | 'run';
}

/** Options of OnceModule. */
export interface OnceOptions {
  /** Lease of claims that name none, ms; integer of 1 to 10 years. Default 30,000. */
  readonly leaseMs?: number;
  /** How long ids are remembered by claims that name nothing else, ms; integer of 1 to 10 years. Default 1 day. */
  readonly retentionMs?: number;
  /** What a crash between claim and confirm means, where a call does not say. Default `at-least-once`. */
  readonly delivery?: Delivery;
  /** Most bytes of a stored result, as JSON; integer of 1 to 64 MiB. Default 65,536. */
  readonly maxResultBytes?: number;
  /** How long a shutdown waits for work under `run`, ms; integer of 0 to 2^31 - 1. Default 10,000. */
  readonly drainTimeoutMs?: number;
  /** HTTP. Default none: `@Idempotent()` then fails at boot. */
  readonly idempotency?: IdempotencyOptions;
}

/** HTTP settings with every default filled in. */
export type ResolvedIdempotencyOptions = Readonly<Required<IdempotencyOptions>>;

/** Options with every default filled in. */
export interface ResolvedOnceOptions extends Readonly<Required<Omit<OnceOptions, 'idempotency'>>> {
  readonly idempotency: ResolvedIdempotencyOptions | undefined;
}

const KNOWN: KnownOptions<OnceOptions> = {
  leaseMs: true,
  retentionMs: true,
  delivery: true,
  maxResultBytes: true,
  drainTimeoutMs: true,
  idempotency: true,
};
const KNOWN_OF_ROUTE: KnownOptions<IdempotencyRouteOptions> = {
  required: true,
  leaseMs: true,
  retentionMs: true,
  delivery: true,
  storeErrors: true,
  maxStoredBytes: true,
};
const KNOWN_OF_IDEMPOTENCY: KnownOptions<IdempotencyOptions> = {
  subject: true,
  header: true,
  whenRedisFails: true,
  ...KNOWN_OF_ROUTE,
};
const MAX_RESULT_BYTES = 64 * 1_024 * 1_024;

function refuse(name: string, value: unknown, remedy: string): never {
  throw new InvalidOptionError(`${name} is ${shown(value)}. ${remedy}`);
}

function duration(name: string, value: number): number {
  return isDuration(value) ? value : refuse(name, value, `Give an integer of 1 to ${MAX_DURATION_MS} ms.`);
}

function delivery(name: string, value: Delivery): Delivery {
  return isDelivery(value) ? value : refuse(name, value, "Give 'at-least-once' or 'at-most-once'.");
}

/**
 * Checks a route's settings and fills in the module's.
 *
 * @throws InvalidOptionError naming the option, the value seen and what to do
 */
export function resolveRoute(
  options: IdempotencyRouteOptions,
  module: Required<IdempotencyRouteOptions>,
): Readonly<Required<IdempotencyRouteOptions>> {
  return Object.freeze({
    required: checkFlag('idempotency.required', options.required ?? module.required),
    leaseMs: duration('idempotency.leaseMs', options.leaseMs ?? module.leaseMs),
    retentionMs: duration('idempotency.retentionMs', options.retentionMs ?? module.retentionMs),
    delivery: delivery('idempotency.delivery', options.delivery ?? module.delivery),
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
const ANY_MODULE: Required<IdempotencyRouteOptions> = {
  required: true,
  leaseMs: 1,
  retentionMs: 1,
  delivery: 'at-least-once',
  storeErrors: false,
  maxStoredBytes: 1,
};

/** Refuses settings that no route knows, or values that none takes. @throws InvalidOptionError naming the option */
export function checkRouteOptions(options: IdempotencyRouteOptions): void {
  checkOptions('@Idempotent()', options, KNOWN_OF_ROUTE);
  resolveRoute(options, ANY_MODULE);
}

function resolveIdempotency(
  options: IdempotencyOptions | undefined,
  module: Required<IdempotencyRouteOptions>,
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
  return Object.freeze({ subject, header, whenRedisFails, ...resolveRoute(route, module) });
}

/**
 * Checks the options and fills in the defaults.
 *
 * @throws InvalidOptionError naming the option, the value seen and what to do
 */
export function resolveOptions(options: OnceOptions): ResolvedOnceOptions {
  checkOptions('', options, KNOWN);
  const leaseMs = duration('leaseMs', options.leaseMs ?? 30_000);
  const retentionMs = duration('retentionMs', options.retentionMs ?? 86_400_000);
  const maxResultBytes = checkInteger('maxResultBytes', options.maxResultBytes ?? 65_536, 1, MAX_RESULT_BYTES);
  const chosen = delivery('delivery', options.delivery ?? 'at-least-once');
  const route = {
    required: true,
    leaseMs,
    retentionMs,
    delivery: chosen,
    storeErrors: false,
    maxStoredBytes: maxResultBytes,
  };
  return Object.freeze({
    leaseMs,
    retentionMs,
    delivery: chosen,
    maxResultBytes,
    drainTimeoutMs: checkInteger('drainTimeoutMs', options.drainTimeoutMs ?? 10_000, 0),
    idempotency: resolveIdempotency(options.idempotency, route),
  });
}
