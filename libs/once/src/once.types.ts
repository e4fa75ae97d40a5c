/**
 * What a crash between claim and confirm means. `at-least-once`: the id may be claimed again when the lease is over, so
 * the work may happen twice. `at-most-once`: it may not, so the work may not happen.
 */
export type Delivery = 'at-least-once' | 'at-most-once';

/** How an id is claimed; what is left out is the module's. */
export interface ClaimOptions {
  /** How long the owner has before it must renew, ms; integer of 1 to 10 years. Default: the module's, 30,000. */
  readonly leaseMs?: number;
  /** How long the id is remembered, ms; integer of 1 to 10 years. Longer than any redelivery. Default: the module's, 1 day. */
  readonly retentionMs?: number;
  /**
   * Names the claim, so that the same token claims again and gets the same answer; 1 to 256 characters, hard to guess.
   * Default: a new one.
   */
  readonly token?: string;
  /** What a crash of the owner means. Default: the module's, `at-least-once`. */
  readonly delivery?: Delivery;
}

/** An id in this caller's hands. */
export interface Claim {
  readonly status: 'claimed';
  readonly id: string;
  /** Proves the ownership. */
  readonly token: string;
  /** Rises with each claim of the id; a receiver that refuses a lower one than it has seen is safe from stale owners. */
  readonly fence: number;
  /** When the lease ends, ms since the epoch by Redis' clock. */
  readonly leaseUntilMs: number;
  /** As `OnceService.renew`, with the claim's lease unless another is given. */
  renew(options?: { readonly leaseMs?: number }): Promise<RenewAnswer>;
  /** As `OnceService.confirm`. */
  confirm(result?: unknown): Promise<ConfirmAnswer>;
  /** As `OnceService.release`. */
  release(): Promise<ReleaseAnswer>;
}

/** The claim under which `OnceService.run` runs its work. */
export interface RunningClaim extends Claim {
  /** Aborted when the lease is lost: stop what has not happened yet. */
  readonly signal: AbortSignal;
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
export type RenewAnswer = { readonly status: 'renewed'; readonly leaseUntilMs: number } | Lost;
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
