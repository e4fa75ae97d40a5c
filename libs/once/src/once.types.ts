/** Effect of a crash of the owner: see the option `delivery` of ClaimTerms. */
export type Delivery = 'at-least-once' | 'at-most-once';

/** Terms of the module, for all claims, and of one claim, for itself. */
export interface ClaimTimes {
  /**
   * Length of the lease: time in which the owner must renew the lease, ms; integer from 10 ms to 10 years. Default 30,000, or
   * the module's.
   */
  readonly leaseMs?: number;
  /**
   * Time for which the id is remembered, counted from the claim and again from the confirmation, ms; integer from 1 to 10
   * years. Make it longer than the longest delay of a redelivery. Default 86,400,000 (1 day), or the module's.
   */
  readonly retentionMs?: number;
}

/** Terms of one claim. */
export interface ClaimTerms extends ClaimTimes {
  /**
   * Effect of a crash between claim and confirmation. `at-least-once`: when the lease has ended, the id can be claimed again, so the
   * work may run twice. `at-most-once`: the id cannot be claimed again within `retentionMs`, so the work may never be completed.
   * Default `at-least-once`.
   */
  readonly delivery?: Delivery;
}

/** Options of `OnceService.run` and `OnceService.claim`. */
export interface RunOptions extends ClaimTerms {
  /**
   * Secret that identifies the owner: another claim with the same token is granted, too, while the owner holds the id.
   * Text of 1 to 256 characters, hard to guess. Default: a new token for each call.
   */
  readonly token?: string;
}

/** Claim of an id, which the caller now owns. */
export interface Claim {
  readonly status: 'claimed';
  readonly id: string;
  /** Secret that identifies the owner to `renew`, `confirm` and `release`. */
  readonly token: string;
  /**
   * Fencing token, a number that is higher for each later claim of the id, unless Redis no longer has the id and its clock is
   * behind. Pass it to the system that the work changes: if that system refuses a lower number than it has seen, an earlier
   * owner can change nothing after a later one.
   */
  readonly fence: number;
  /** End of the lease unless it is renewed, ms since 1970 by Redis' clock. */
  readonly leaseEndsAtMs: number;
  /** Renews the lease of this claim, as `OnceService.renew` does. Default of `leaseMs`: the `leaseMs` of the claim. */
  renew(options?: { readonly leaseMs?: number }): Promise<RenewResult>;
  /**
   * Confirms this claim, as `OnceService.confirm` does. The result of a request is a StoredResponse.
   */
  confirm(result?: unknown): Promise<ConfirmResult>;
  /** Releases this claim, as `OnceService.release` does. */
  release(): Promise<ReleaseResult>;
}

/**
 * Run in progress. The work of `OnceService.run` gets it as argument, and `OnceService.current()` returns it. The handler of a
 * route with `@Idempotent()` gets it with `@CurrentOnceRun()`.
 */
export interface OnceRun {
  /**
   * Id that `run` was called with; the id of the message with `@Once()`; the idempotency key of the request with
   * `@Idempotent()`.
   */
  readonly id: string;
  /**
   * Fencing token, as in Claim. 0 for a request that runs without a claim, because Redis failed and `onRedisError` is `run`.
   */
  readonly fence: number;
  /**
   * Signal that fires when the lease is lost, after `maxLeaseMs`, and at shutdown after `drainMs`. For a request without a
   * claim the signal fires only at shutdown. Its reason is a LostError.
   */
  readonly signal: AbortSignal;
  /** Throws if `signal` has fired, if the work has ended, or if the request runs without a claim. @throws LostError */
  assertHeld(): void;
}

/** Result if another owner has the id. */
interface InProgress {
  readonly status: 'in-progress';
  /** Time until the lease of the other owner ends, unless that owner renews it, ms; at least 1. */
  readonly retryAfterMs: number;
}

/** Result of `OnceService.claim`: a Claim, or the reason why the id could not be claimed. */
export type ClaimResult =
  | Claim
  | InProgress
  | {
      readonly status: 'done';
      /** Result that was confirmed. For a request it is a StoredResponse. Undefined if no result was stored. */
      readonly result: unknown;
      /**
       * False if the lease of an `at-most-once` claim ended without a confirmation. Then nobody knows if the work was
       * completed.
       */
      readonly confirmed: boolean;
    };

/** Result of `OnceService.claim` for a request that was claimed with another fingerprint. Nothing was changed. */
export interface Mismatch {
  readonly status: 'mismatch';
}

/** Result if the caller does not own the id, or no longer owns it. Nothing was changed. */
interface Lost {
  readonly status: 'lost';
}
/** Result of a renewal. `leaseEndsAtMs` is the new end of the lease, ms since 1970 by Redis' clock. */
export type RenewResult = { readonly status: 'renewed'; readonly leaseEndsAtMs: number } | Lost;
export type ConfirmResult = { readonly status: 'confirmed' } | Lost;
export type ReleaseResult = { readonly status: 'released' } | Lost;

/** Result of `OnceService.run`. */
export type RunResult<T> =
  | {
      readonly status: 'ran';
      readonly result: T;
      /**
       * False if the lease was lost before the confirmation, or if the work was not finished. With `at-least-once`, it may run
       * again.
       */
      readonly confirmed: boolean;
    }
  | {
      readonly status: 'duplicate';
      /**
       * Result of the earlier run, parsed from JSON. Undefined if the run returned nothing, failed or was not confirmed, or if
       * its result could not be stored.
       */
      readonly result: T | undefined;
      /**
       * False if the lease of an `at-most-once` run ended without a confirmation. Then nobody knows if the work was completed.
       */
      readonly confirmed: boolean;
    }
  | InProgress;

/** A message with `@Once()`. */
export interface MessageTarget {
  /** Option `scope` of the `@Once()`, by default `<Class>.<method>`. */
  readonly scope: string;
  /** Id of the message, as the option `id` of the `@Once()` returns it. */
  readonly id: string;
}

/** A request with `@Idempotent()`. */
export interface RequestTarget {
  /** Id of the user who sent the request, as `idempotency.subject` returns it. */
  readonly subject: string | number | bigint;
  /** Idempotency key of the request, as the client sends it. */
  readonly key: string;
  /**
   * Text that is the same for a request and its repeats, of up to 9,999 bytes in UTF-8. A claim of a request that was claimed with
   * another one gets `mismatch`. Only `claim` reads it. Default: ''.
   */
  readonly fingerprint?: string;
}

/** Target of a claim that is not an id of the app's own. */
export type OnceTarget = MessageTarget | RequestTarget;

/** State of an id. Instants are ms since 1970 by Redis' clock. */
export type PeekResult =
  /**
   * The next claim gets the id. The id was never claimed, was released, is forgotten, or its `at-least-once` claim has ended
   * without a confirmation. In the last case, a request with other content than the first one does not get it.
   */
  | { readonly status: 'unknown' }
  | {
      readonly status: 'in-progress';
      readonly fence: number;
      /** Time of the claim. It is computed from the fence, so it can be too late if the clock of Redis was set back. */
      readonly startedAtMs: number;
      /** End of the lease, unless the owner renews it. */
      readonly leaseEndsAtMs: number;
    }
  | {
      readonly status: 'done';
      /**
       * Result that was confirmed; for a request a `StoredResponse`. Undefined if the id was confirmed without a result, or not
       * confirmed.
       */
      readonly result: unknown;
      /**
       * False if the lease of an `at-most-once` claim ended without a confirmation. Then nobody knows if the work was
       * completed.
       */
      readonly confirmed: boolean;
      /** Time at which Redis forgets the id; undefined if the key has no TTL any more. The next claim sets the TTL again. */
      readonly expiresAtMs: number | undefined;
    };

/** Stored response of a request, which repeats of the request get. */
export interface StoredResponse {
  readonly status: number;
  /** Status message (reason phrase); undefined if it is the usual one of the status, and over HTTP/2. */
  readonly message: string | undefined;
  /**
   * Headers that were changed after the interceptor began, but not cookies, `date` and headers of one connection. Null: this
   * header was removed, so a replay removes it, too.
   */
  readonly headers: readonly (readonly [name: string, value: string | string[] | null])[];
  /** Body of the response: text if its bytes are UTF-8, otherwise a Buffer. */
  readonly body: string | Buffer;
}
