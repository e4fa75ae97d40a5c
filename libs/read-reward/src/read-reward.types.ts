/** How a read ended. */
export type RecordStatus = 'rewarded' | 'duplicate' | 'capped';

/** How a refund ended: `expired` when the grant's period is over, `unknown` when there is no such grant. */
export type RefundStatus = 'refunded' | 'already-refunded' | 'expired' | 'unknown';

/** A user read an item. */
export interface RecordRead {
  /** Name of a rule of the module's options. */
  readonly rule: string;
  /** Who read; 1 to 256 characters. */
  readonly userId: string;
  /** What was read; 1 to 256 characters. */
  readonly itemId: string;
  /**
   * Names the attempt, 1 to 256 characters: the same rule, user and operation get the first answer again, whatever the
   * item. Default none: then only what ioredis sends again is known as the same call.
   */
  readonly operationId?: string;
  /** IANA zone of the user, from the next period on. Default: the rule's. */
  readonly timeZone?: string;
}

/** What a read brought. */
export interface RecordResult {
  readonly status: RecordStatus;
  /** Points granted by this read; 0 unless rewarded. */
  readonly points: number;
  /** Items that count in the user's period. */
  readonly used: number;
  /** Items that the period would still reward. */
  readonly remaining: number;
  /** When the user's period ends, ms since 1970; null for period `total`. */
  readonly resetsAtMs: number | null;
  /** Names the grant for `refund` and for the books; null unless rewarded. At most 1,700 characters. */
  readonly grantId: string | null;
}

/** Where a user stands with one rule. */
export interface RewardStatus {
  readonly rule: string;
  /** Points granted in the period. */
  readonly points: number;
  /** Items that count in it. */
  readonly used: number;
  /** Items that it would still reward. */
  readonly remaining: number;
  /** When it ends, ms since 1970; null for period `total`. */
  readonly resetsAtMs: number | null;
}

/** What a refund did. */
export interface RefundResult {
  readonly status: RefundStatus;
  /** Points that the caller is to take back; 0 unless refunded. */
  readonly points: number;
  /** Items that count in the period after it; 0 when expired or unknown. */
  readonly used: number;
}

/** A row of the ledger stream. */
export interface LedgerRow {
  readonly kind: 'grant' | 'refund';
  readonly grantId: string;
  readonly rule: string;
  readonly userId: string;
  readonly itemId: string;
  readonly points: number;
  /** By Redis' clock, ms since 1970. */
  readonly atMs: number;
}
