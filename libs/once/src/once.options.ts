import {
  checkFlag,
  checkInteger,
  checkOptions,
  InvalidOptionError,
  type KnownOptions,
  shown,
} from '../../internal/src';
import { isDelivery, isDuration, MAX_DURATION_MS } from './once.input';
import type { Delivery } from './once.types';

/** What a subject may be: the id of a user, not empty. */
export type Subject = string | number | bigint;

/** Returns the user on whose behalf a request comes; undefined for an unknown one, who gets 401. */
export type SubjectResolver = (request: unknown) => Subject | null | undefined | Promise<Subject | null | undefined>;

/** Returns a text that repeats of a request share, and requests with other content do not. */
export type FingerprintResolver = (request: unknown) => string | Promise<string>;

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
  /**
   * Stands for the content of a request, which a repeat must have as well; method, URL and subject are compared besides.
   * Default: body and uploaded files, JSON by its values.
   */
  readonly fingerprint?: FingerprintResolver;
  /** What a repeat gets while the first is in progress: `refuse` is 409 at once, `wait` its response. Default `refuse`. */
  readonly onInProgress?: 'refuse' | 'wait';
  /** How long `wait` waits before 409, ms; integer of 1 to 2^31 - 1. Default 10,000. */
  readonly waitMs?: number;
  /**
   * How long a handler's claim is renewed, ms; integer of 1 to 10 years. Then its lease ends, as if the process had died:
   * a handler that never ends does not keep its key for ever. Default 3,600,000.
   */
  readonly maxLeaseMs?: number;
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
export type ResolvedIdempotencyOptions = ResolvedRouteOptions &
  Readonly<Required<Omit<IdempotencyOptions, keyof IdempotencyRouteOptions>>>;

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
  fingerprint: true,
  onInProgress: true,
  waitMs: true,
  maxLeaseMs: true,
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
export function resolveRoute(options: IdempotencyRouteOptions, module: ResolvedRouteOptions): ResolvedRouteOptions {
  const { fingerprint = module.fingerprint, onInProgress = module.onInProgress } = options;
  if (fingerprint !== undefined && typeof fingerprint !== 'function') {
    refuse('idempotency.fingerprint', fingerprint, 'Give a function from the request to a string.');
  }
  if (!['refuse', 'wait'].includes(onInProgress)) {
    refuse('idempotency.onInProgress', onInProgress, "Give 'refuse' or 'wait'.");
  }
  return Object.freeze({
    fingerprint,
    onInProgress,
    waitMs: checkInteger('idempotency.waitMs', options.waitMs ?? module.waitMs, 1),
    maxLeaseMs: duration('idempotency.maxLeaseMs', options.maxLeaseMs ?? module.maxLeaseMs),
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
const ANY_MODULE: ResolvedRouteOptions = {
  onInProgress: 'refuse',
  waitMs: 1,
  maxLeaseMs: 1,
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
  module: ResolvedRouteOptions,
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
  const route: ResolvedRouteOptions = {
    required: true,
    onInProgress: 'refuse',
    waitMs: 10_000,
    maxLeaseMs: 3_600_000,
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
