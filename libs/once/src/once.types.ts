/** Effect of a crash of the owner of a claim: see the option `delivery` of ClaimTerms. */
export type Delivery = 'at-least-once' | 'at-most-once';

/** Times of a claim. The values of the module are the defaults for all claims. */
export interface ClaimTimes {
  /**
   * Length of the lease, ms; integer from 10 ms to 10 years. If the owner does not renew the lease in this time, the lease ends.
   * Default for the module: 30,000. Default for a claim: the value of the module.
   */
  readonly leaseMs?: number;
  /**
   * Time for which Redis remembers the id, ms; integer from 1 to 10 years. It is counted from the claim, and starts again at the
   * confirmation. Make it longer than the longest delay of a redelivery. Default for the module: 86,400,000 (1 day). Default for
   * a claim: the value of the module.
   */
  readonly retentionMs?: number;
}

/** Options of one claim. */
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
   * Secret that identifies the owner. While the owner holds the id, a repeated claim with the same token succeeds, too. Text of 1
   * to 256 characters, hard to guess. Default: a new token for each call.
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
   * Fencing token: a number that is higher for each later claim of the id. (It can be lower if Redis no longer has the id and the
   * clock of Redis shows an earlier time than before.) Pass the fence to the system that the work changes. If that system refuses
   * a number that is lower than one it has seen, an earlier owner can change nothing after a later owner.
   */
  readonly fence: number;
  /** End of the lease, unless the owner renews the lease, ms since 1970 by Redis' clock. */
  readonly leaseEndsAtMs: number;
  /** Renews the lease of this claim, as `OnceService.renew` does. Default of `leaseMs`: the `leaseMs` of the claim. */
  renew(options?: { readonly leaseMs?: number }): Promise<RenewResult>;
  /**
   * Confirms this claim, as `OnceService.confirm` does. If the claim is for an HTTP request, `result` must be a StoredResponse.
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
   * Id of the run. For `OnceService.run`: the id that was passed. For `@Once()`: the id of the message. For `@Idempotent()`: the
   * idempotency key of the request.
   */
  readonly id: string;
  /**
   * Fencing token, as in Claim. 0 for a request that runs without a claim, because Redis failed and `onRedisError` is `run`.
   */
  readonly fence: number;
  /**
   * Signal for the work to stop. It fires when the lease is lost, after `maxLeaseMs`, and at shutdown after `drainMs`. For
   * a request without a claim, it fires only at shutdown. The reason of the signal is a LostError.
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

/**
 * Result of `OnceService.claim` if the idempotency key was claimed before with another fingerprint, so for a request with other
 * content. Nothing was changed.
 */
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
       * False if the lease was lost before the confirmation, or if the work was not finished. With `at-least-once`, the work may
       * then run again.
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

/** A message of a handler with `@Once()`. */
export interface MessageTarget {
  /** Option `scope` of `@Once()`. If `@Once()` has no such option: `<Class>.<method>`. */
  readonly scope: string;
  /** Id of the message, as the option `id` of `@Once()` returns it. */
  readonly id: string;
}

/** An HTTP request to a route with `@Idempotent()`. */
export interface RequestTarget {
  /** Id of the user who sent the request, as `idempotency.subject` returns it. */
  readonly subject: string | number | bigint;
  /** Idempotency key of the request, as the client sends it. */
  readonly key: string;
  /**
   * Text that is the same for a request and its repeats, such as a hash of the content; up to 9,999 bytes in UTF-8. If the key
   * was claimed before with another fingerprint, the claim returns `mismatch`. Only `claim` uses the fingerprint. Default: ''.
   */
  readonly fingerprint?: string;
}

/** Target of a claim that is not an id that the app has chosen: a message or an HTTP request. */
export type OnceTarget = MessageTarget | RequestTarget;

/** State of an id. Instants are ms since 1970 by Redis' clock. */
export type PeekResult =
  /**
   * The id is free: the next claim gets it. The id was never claimed, was released, or is forgotten, or its `at-least-once` claim
   * has ended without a confirmation. In the last case, a request with other content than the first request gets `mismatch`
   * instead.
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
       * Result that was confirmed. For a request, it is a `StoredResponse`. Undefined if the id was confirmed without a result,
       * or was not confirmed.
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
  /**
   * Status message (reason phrase). Undefined if it is the usual message of the status, or if the response was sent over HTTP/2.
   */
  readonly message: string | undefined;
  /**
   * Headers that were set, changed or removed after the interceptor began. Cookies, `date` and headers that belong to one
   * connection are left out. Null means that the header was removed, so a replay removes it, too.
   */
  readonly headers: readonly (readonly [name: string, value: string | string[] | null])[];
  /** Body of the response: text if its bytes are UTF-8, otherwise a Buffer. */
  readonly body: string | Buffer;
}
