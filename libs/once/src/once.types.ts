/**
 * Effect of a crash between claim and confirmation. `at-least-once`: the id can be claimed again when the lease has ended, so
 * the work may run twice. `at-most-once`: the id can never be claimed again, so the work may never be completed.
 */
export type Delivery = 'at-least-once' | 'at-most-once';

/** Terms of a claim. Default of each: the option of the module with the same name. */
export interface ClaimTerms {
  /** Length of the lease: the owner must renew it in this time, ms; integer of 1 to 10 years. Default 30,000. */
  readonly leaseMs?: number;
  /**
   * Time from the claim for which a run renews its lease, ms; integer of 1 to 10 years. After it the signal of the run fires,
   * and the lease ends as if the process had died: work that never ends does not keep its id forever. If `leaseMs` is
   * longer, the lease ends after `leaseMs`. Default 3,600,000.
   */
  readonly maxLeaseMs?: number;
  /**
   * Time for which the id is remembered, ms; integer of 1 to 10 years. Make it longer than the longest delay of a redelivery.
   * Default 86,400,000 (1 day).
   */
  readonly retentionMs?: number;
  /** Effect of a crash of the owner. Default `at-least-once`. */
  readonly delivery?: Delivery;
  /**
   * Number of replicas that must have the claim before the work begins, and the confirmation before the call resolves;
   * integer of 0 to 100. Default 0: WAIT is not used.
   */
  readonly replicas?: number;
  /** Time to wait for the replicas, ms; integer of 1 to 3,600,000. Default 1,000. */
  readonly replicasTimeoutMs?: number;
}

/** Options of `OnceService.run`. */
export interface RunOptions extends ClaimTerms {
  /**
   * Identifies the claim: another claim with the same token gets the same result while the lease lasts. 1 to 256 characters,
   * hard to guess. Default: a new one for each call.
   */
  readonly token?: string;
}

/** Options of `OnceService.claim`. Nothing renews such a claim, except its owner. */
export type ClaimOptions = Omit<RunOptions, 'maxLeaseMs'>;

/** Claim of an id that this caller owns. */
export interface Claim {
  readonly status: 'claimed';
  readonly id: string;
  /** Secret that identifies the owner to `renew`, `confirm` and `release`. */
  readonly token: string;
  /**
   * Fencing token: higher for each later claim of the id. A system that refuses a lower fence than it has seen is safe from
   * owners whose lease has ended.
   */
  readonly fence: number;
  /** End of the lease, ms since 1970 by Redis' clock. */
  readonly leaseEndsAtMs: number;
  /** Like `OnceService.renew`. Default of `leaseMs`: the lease of the claim. */
  renew(options?: { readonly leaseMs?: number }): Promise<RenewAnswer>;
  /** Like `OnceService.confirm`. */
  confirm(result?: unknown): Promise<ConfirmAnswer>;
  /** Like `OnceService.release`. */
  release(): Promise<ReleaseAnswer>;
}

/** Run in progress: passed to the work of `OnceService.run`, and returned by `OnceService.current()`. */
export interface OnceRun {
  /** The id that was passed to `run`, the id of the message with `@Once()`, or the request's key with `@Idempotent()`. */
  readonly id: string;
  /** Fencing token: higher for each later claim of the id. 0 for a request that runs unprotected with `onRedisError: 'run'`. */
  readonly fence: number;
  /**
   * Fires when the lease is lost, after `maxLeaseMs`, and at shutdown after `drainMs`. For an unprotected request it fires
   * only at shutdown. Its reason is an OnceLostError.
   */
  readonly signal: AbortSignal;
  /** Returns while the run holds its lease. @throws OnceLostError otherwise, and always for an unprotected request */
  assertHeld(): void;
}

/** Another owner has the id. */
export interface InProgress {
  readonly status: 'in-progress';
  /** Time until the owner's lease ends unless the owner renews it, ms; at least 1. */
  readonly retryAfterMs: number;
}

/** The id is done. */
export interface Done {
  readonly status: 'done';
  /** The result that was confirmed; undefined if there was none. */
  readonly result: unknown;
  /** False if the lease of an `at-most-once` claim ended without a confirmation: whether the work was completed is unknown. */
  readonly confirmed: boolean;
}

/** Result of `OnceService.claim`. */
export type ClaimAnswer = Claim | InProgress | Done;

/** The caller no longer owns the id; nothing was changed. */
export interface Lost {
  readonly status: 'lost';
}
/** Result of a renewal; `leaseEndsAtMs` is the new end of the lease, ms since 1970 by Redis' clock. */
export type RenewAnswer = { readonly status: 'renewed'; readonly leaseEndsAtMs: number } | Lost;
/** Result of a confirmation. */
export type ConfirmAnswer = { readonly status: 'confirmed' } | Lost;
/** Result of a release. */
export type ReleaseAnswer = { readonly status: 'released' } | Lost;

/** Result of `OnceService.run`. */
export type RunAnswer<T> =
  | {
      readonly status: 'ran';
      readonly result: T;
      /** False if the lease was lost before the confirmation, or the work was not finished: the work may run again. */
      readonly confirmed: boolean;
    }
  | {
      readonly status: 'duplicate';
      /** Result of the first run, parsed from JSON; undefined if it had no result, could not be stored, or was not completed. */
      readonly result: T | undefined;
      readonly confirmed: boolean;
    }
  | InProgress;

/** Target of `OnceService.peek` that is not an id of `run` or `claim`. */
export type PeekTarget =
  | {
      /** `scope` of the `@Once()` handler, by default `<Class>.<method>`. */
      readonly scope: string;
      /** Id of the message, as the option `id` of the handler returns it. */
      readonly id: string;
    }
  | {
      /** User of the request, as `idempotency.subject` returns it. */
      readonly subject: string | number | bigint;
      /** Key of the request, as the client sends it. */
      readonly key: string;
    };

/** State of an id. Instants are ms since 1970 by Redis' clock. */
export type PeekAnswer =
  /** The next claim gets the id: it was never claimed, was released, was forgotten, or its owner's lease has ended. */
  | { readonly status: 'unknown' }
  | {
      readonly status: 'in-progress';
      readonly fence: number;
      /** Time of the claim. It is computed from the fence, so it can be too late if the server's clock was set back. */
      readonly startedAtMs: number;
      /** End of the lease, unless the owner renews it. */
      readonly leaseEndsAtMs: number;
    }
  | {
      readonly status: 'done';
      /** Result that was confirmed; a `StoredResponse` for a request. Undefined if there was none, or it could not be stored. */
      readonly result: unknown;
      /** False if the lease of an `at-most-once` claim ended without a confirmation: whether the work was completed is unknown. */
      readonly confirmed: boolean;
      /** Time at which the id is forgotten; undefined if the key has lost its TTL, which the next claim sets again. */
      readonly expiresAtMs: number | undefined;
    };

/** Stored response, which repeats of its request get. */
export interface StoredResponse {
  readonly status: number;
  /** Status message (reason phrase), if it is not the usual one. */
  readonly message: string | undefined;
  /** Headers by name. Null: the handler removed this header, so a replay removes it, too. */
  readonly headers: readonly (readonly [name: string, value: string | string[] | null])[];
  /** Text if the bytes are UTF-8, otherwise a Buffer. */
  readonly body: string | Buffer;
}
