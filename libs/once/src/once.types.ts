/** Behaviour after a crash, see the option `delivery`. */
export type Delivery = 'at-least-once' | 'at-most-once';

/** Times of a claim. The values of the module are the defaults for all claims. */
export interface ClaimTimes {
  /**
   * Length of the lease, ms; integer from 10 ms to 10 years. If the owner does not renew the lease in this time, the lease ends.
   * Default for the module: 30,000. Default for a claim: the value of the module.
   */
  readonly leaseMs?: number;
  /**
   * Time for which Redis remembers the id, ms; integer from 1 to 10 years. The time starts with the claim, and again with the confirmation.
   * Make it longer than a message can be delayed before it is delivered again. Default for the module: 86,400,000 (1 day). Default for a
   * claim: the value of the module.
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
   * Secret that identifies the owner. A second claim with the same token succeeds, too, while the owner holds the id. Text of 1 to 256
   * characters, hard to guess. Default: a new token for each call.
   */
  readonly token?: string;
}

/** A claim that the caller owns. */
export interface Claim {
  readonly status: 'claimed';
  readonly id: string;
  /** Secret that identifies the owner to `renew`, `confirm` and `release`. */
  readonly token: string;
  /**
   * Fencing token: a number that is higher for each later claim of the id. Pass it to the system that the work changes. If that system
   * refuses numbers that are lower than one it has seen, an earlier owner can change nothing after a later one. (The number can be lower if
   * Redis has lost the id and its clock was set back.)
   */
  readonly fence: number;
  /** When the lease ends, unless the owner renews it, ms since 1970 by Redis' clock. */
  readonly leaseEndsAtMs: number;
  /** Renews the lease of this claim, as `OnceService.renew` does. Default of `leaseMs`: the `leaseMs` of the claim. */
  renew(options?: { readonly leaseMs?: number }): Promise<RenewResult>;
  /** Confirms this claim, as `OnceService.confirm` does. For an HTTP request, `result` must be a StoredResponse. */
  confirm(result?: unknown): Promise<ConfirmResult>;
  /** Releases this claim, as `OnceService.release` does. */
  release(): Promise<ReleaseResult>;
}

/**
 * The work that runs under a claim. `OnceService.run` passes it to the work, `OnceService.current()` returns it, and a route with
 * `@Idempotent()` gets it with `@CurrentOnceRun()`.
 */
export interface OnceRun {
  /**
   * Id of the run. For `OnceService.run`: the id that was passed. For `@Once()`: the id of the message. For `@Idempotent()`: the
   * idempotency key of the request.
   */
  readonly id: string;
  /** Fencing token, see `fence` of Claim. 0 for a request that runs without a claim, because Redis failed and `onRedisError` is `run`. */
  readonly fence: number;
  /**
   * Signal that asks the work to stop, with a LostError as its reason. It is aborted when the lease is lost, after `maxLeaseMs`, and at a
   * shutdown after `drainMs`. For a request without a claim, only at a shutdown.
   */
  readonly signal: AbortSignal;
  /** Throws if `signal` is aborted, if the work has ended, or if the request runs without a claim. @throws LostError */
  assertHeld(): void;
}

/** The claim failed, because another owner has the id. */
interface InProgress {
  readonly status: 'in-progress';
  /** Time until the lease of the other owner ends, if it is not renewed, ms; at least 1. */
  readonly retryAfterMs: number;
}

/** Result of `OnceService.claim`: the claim, or the reason why the id could not be claimed. */
export type ClaimResult =
  | Claim
  | InProgress
  | {
      readonly status: 'done';
      /** Result of the finished work; for a request a StoredResponse. Undefined if no result was stored. */
      readonly result: unknown;
      /** False if the lease of an `at-most-once` claim ended without a confirmation, so that it is unknown if the work was completed. */
      readonly confirmed: boolean;
    };

/** The claim failed, because the idempotency key was claimed before for a request with other content. Nothing was changed. */
export interface Mismatch {
  readonly status: 'mismatch';
}

/** The call failed, because its caller does not own the id, or no longer owns it. Nothing was changed. */
interface Lost {
  readonly status: 'lost';
}
/** Result of a renewal. `leaseEndsAtMs` is the new end of the lease, ms since 1970 by Redis' clock. */
export type RenewResult = { readonly status: 'renewed'; readonly leaseEndsAtMs: number } | Lost;
export type ConfirmResult = { readonly status: 'confirmed' } | Lost;
export type ReleaseResult = { readonly status: 'released' } | Lost;

/** Result of `run()`: what the work has returned, or why the work did not run. */
export type RunResult<T> =
  | {
      readonly status: 'ran';
      readonly result: T;
      /**
       * False if the lease was lost before the confirmation, or if the work did not finish. With `at-least-once`, the work may then run
       * again.
       */
      readonly confirmed: boolean;
    }
  | {
      readonly status: 'duplicate';
      /**
       * Result of the earlier run, parsed from JSON. Undefined if that run returned nothing, failed or was not confirmed, or if its result
       * could not be stored.
       */
      readonly result: T | undefined;
      /** False if the lease of an `at-most-once` run ended without a confirmation, so that it is unknown if the work was completed. */
      readonly confirmed: boolean;
    }
  | InProgress;

/** A message that a method with `@Once()` handles. */
export interface MessageTarget {
  /** Option `scope` of `@Once()`; `<Class>.<method>` if it is not set. */
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
   * Text that is the same for a request and its repeats, such as a hash of the content; up to 9,999 bytes in UTF-8. Default ''. `claim`
   * returns `mismatch` if the key was claimed before with another fingerprint; other methods ignore it.
   */
  readonly fingerprint?: string;
}

/** A message or an HTTP request, instead of an id that the app has chosen. */
export type OnceTarget = MessageTarget | RequestTarget;

/** State of an id. All times are ms since 1970 by Redis' clock. */
export type PeekResult =
  /**
   * The id is free, so it can be claimed. It was never claimed, was released or is forgotten; or the lease of an `at-least-once` claim has
   * ended. In the last case, a request with other content gets `mismatch`.
   */
  | { readonly status: 'unknown' }
  | {
      readonly status: 'in-progress';
      readonly fence: number;
      /** When the id was claimed. May be too late if the clock of Redis was set back, because it is computed from the fence. */
      readonly startedAtMs: number;
      /** End of the lease, unless the owner renews it. */
      readonly leaseEndsAtMs: number;
    }
  | {
      readonly status: 'done';
      /** Result of the finished work; for a request a StoredResponse. Undefined if no result was stored. */
      readonly result: unknown;
      /** False if the lease of an `at-most-once` claim ended without a confirmation, so that it is unknown if the work was completed. */
      readonly confirmed: boolean;
      /** When Redis forgets the id; undefined if its key has lost its TTL. The next claim sets a TTL again. */
      readonly expiresAtMs: number | undefined;
    };

/** Response of an idempotent route, as it is stored for repeats of the request. */
export interface StoredResponse {
  readonly status: number;
  /** Status message (reason phrase). Undefined if it is the usual one for the status, or if the response was sent over HTTP/2. */
  readonly message: string | undefined;
  /**
   * Headers that the handler has set, changed or removed (null). A replay does the same. Cookies, `date` and headers of the connection are
   * left out.
   */
  readonly headers: readonly (readonly [name: string, value: string | string[] | null])[];
  /** Body of the response: text if its bytes are UTF-8, otherwise a Buffer. */
  readonly body: string | Buffer;
}
