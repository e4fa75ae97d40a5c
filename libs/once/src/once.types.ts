/**
 * What a crash between claim and confirm means. `at-least-once`: the id may be claimed again when the lease is over, so
 * the work may happen twice. `at-most-once`: it may not, so the work may not happen.
 */
export type Delivery = 'at-least-once' | 'at-most-once';

/** Terms of a claim; what is left out is the module's. */
export interface ClaimTerms {
  /** How long the owner has before it must renew, ms; integer of 1 to 10 years. Default: the module's, 30,000. */
  readonly leaseMs?: number;
  /**
   * How long the claim of work is renewed, ms; integer of 1 to 10 years. Then its signal fires and its lease ends, as if the
   * process had died: work that never ends does not keep its id for ever. A longer `leaseMs` lasts to its own end.
   * Default: the module's, 3,600,000.
   */
  readonly maxLeaseMs?: number;
  /** How long the id is remembered, ms; integer of 1 to 10 years. Longer than any redelivery. Default: the module's, 1 day. */
  readonly retentionMs?: number;
  /** What a crash of the owner means. Default: the module's, `at-least-once`. */
  readonly delivery?: Delivery;
  /**
   * Replicas that must have the claim before the work begins, and the confirmation before its answer; integer of 0 to 100.
   * Default: the module's, 0: WAIT is not used.
   */
  readonly replicas?: number;
  /** How long to wait for the replicas, ms; integer of 1 to 3,600,000. Default: the module's, 1,000. */
  readonly replicasTimeoutMs?: number;
}

/** How an id is claimed for work that `OnceService.run` runs. */
export interface RunOptions extends ClaimTerms {
  /**
   * Names the claim, so that the same token claims again and gets the same answer; 1 to 256 characters, hard to guess.
   * Default: a new one.
   */
  readonly token?: string;
}

/** How an id is claimed by hand: nothing renews that claim but its owner. */
export type ClaimOptions = Omit<RunOptions, 'maxLeaseMs'>;

/** An id in this caller's hands. */
export interface Claim {
  readonly status: 'claimed';
  readonly id: string;
  /** Proves the ownership. */
  readonly token: string;
  /** Rises with each claim of the id; a receiver that refuses a lower one than it has seen is safe from stale owners. */
  readonly fence: number;
  /** When the lease ends, ms since the epoch by Redis' clock. */
  readonly leaseEndsAtMs: number;
  /** As `OnceService.renew`, with the claim's lease unless another is given. */
  renew(options?: { readonly leaseMs?: number }): Promise<RenewAnswer>;
  /** As `OnceService.confirm`. */
  confirm(result?: unknown): Promise<ConfirmAnswer>;
  /** As `OnceService.release`. */
  release(): Promise<ReleaseAnswer>;
}

/** A run in progress: what `OnceService.run` gives its work, and what `OnceService.current()` returns in it. */
export interface OnceRun {
  /** The id given to `run`, that of the message under `@Once()`, or the request's key under `@Idempotent()`. */
  readonly id: string;
  /** Rises with each claim of the id; 0 for a request that runs unprotected under `onRedisError: 'run'`. */
  readonly fence: number;
  /**
   * Aborted when the lease is lost, after `maxLeaseMs`, and at shutdown after `drainMs`. Its reason is an OnceLostError, but
   * for unprotected requests: theirs is an Error, at shutdown alone.
   */
  readonly signal: AbortSignal;
  /** @throws OnceLostError unless the lease still lasts; also for a request that runs unprotected */
  assertHeld(): void;
}

/** Another owns the id. */
export interface InProgress {
  readonly status: 'in-progress';
  /** When its lease ends unless it renews, ms; at least 1. */
  readonly retryAfterMs: number;
}

/** The id is done. */
export interface Done {
  readonly status: 'done';
  /** What was confirmed; undefined where nothing was. */
  readonly result: unknown;
  /** False where the owner of an `at-most-once` claim never confirmed: nobody knows whether the work happened. */
  readonly confirmed: boolean;
}

/** The answer to a claim. */
export type ClaimAnswer = Claim | InProgress | Done;

/** The caller owns the id no longer; nothing was changed. */
export interface Lost {
  readonly status: 'lost';
}
/** The answer to a renewal. */
export type RenewAnswer = { readonly status: 'renewed'; readonly leaseEndsAtMs: number } | Lost;
/** The answer to a confirmation. */
export type ConfirmAnswer = { readonly status: 'confirmed' } | Lost;
/** The answer to a release. */
export type ReleaseAnswer = { readonly status: 'released' } | Lost;

/** The answer to `OnceService.run`. */
export type RunAnswer<T> =
  | {
      readonly status: 'ran';
      readonly result: T;
      /** False where the lease was lost meanwhile: the work may run again elsewhere. */
      readonly confirmed: boolean;
    }
  | {
      readonly status: 'duplicate';
      /** What the work returned, from JSON; undefined where it returned nothing or too much, or never ended. */
      readonly result: T | undefined;
      readonly confirmed: boolean;
    }
  | InProgress;

/** What `OnceService.peek` looks at besides an id of `run`, `claim`, `renew`, `confirm` and `release`. */
export type PeekTarget =
  | {
      /** Scope of the `@Once()` handler; `<Class>.<method>` unless it has another. */
      readonly scope: string;
      /** The message's id, as the handler's `id` returns it. */
      readonly id: string;
    }
  | {
      /** The user of an idempotent route, as `idempotency.subject` returns it. */
      readonly subject: string | number | bigint;
      /** The request's key, as the client sends it. */
      readonly key: string;
    };

/** What is known of an id. Instants are ms since 1970 by Redis' clock. */
export type PeekAnswer =
  /** Never claimed, released, forgotten, or its owner's lease ended: the next claim gets it. */
  | { readonly status: 'unknown' }
  | {
      readonly status: 'in-progress';
      readonly fence: number;
      /** When it was claimed; taken from the fence, so it may be ahead where the server's clock went back. */
      readonly startedAtMs: number;
      /** When the lease ends unless it is renewed. */
      readonly leaseEndsAtMs: number;
    }
  | {
      readonly status: 'done';
      /** What was confirmed; a `StoredResponse` for requests. Undefined where nothing was, or it was not kept. */
      readonly result: unknown;
      /** False where the owner of an `at-most-once` claim never confirmed: nobody knows whether the work happened. */
      readonly confirmed: boolean;
      /** When it is forgotten; undefined where the key lost its TTL, which the next claim repairs. */
      readonly expiresAtMs: number | undefined;
    };

/** A response that is replayed to repeats of its request. */
export interface StoredResponse {
  readonly status: number;
  /** The text after the status, where it is not the usual one. */
  readonly message: string | undefined;
  /** Null where a repeat must not have a header that was there before the handler ran. */
  readonly headers: readonly (readonly [name: string, value: string | string[] | null])[];
  /** Text; bytes where they are not UTF-8. */
  readonly body: string | Buffer;
}
