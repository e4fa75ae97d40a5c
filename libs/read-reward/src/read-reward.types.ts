/** Result of a read: `duplicate` if the item counts already, `capped` if the period has no room. */
export type RecordStatus = 'rewarded' | 'duplicate' | 'capped';

/**
 * Result of a refund: `expired` if Redis no longer has this period of the user, also for an id that was never granted;
 * `unknown` if the period is there and the grant is not.
 */
export type RefundStatus = 'refunded' | 'already-refunded' | 'expired' | 'unknown';

/** Read of an item by a user. */
export interface RecordRead {
  /** Name of a rule in the options of the module. */
  readonly rule: string;
  /** Id of the user; 1 to 256 characters. */
  readonly userId: string;
  /** Id of the item; 1 to 256 characters. */
  readonly itemId: string;
  /**
   * Id of the operation, 1 to 256 characters. A call with the same rule, user and operation id gets the first result again,
   * even with another item. Default none: then only a command that ioredis sends again is recognized as the same call.
   */
  readonly operationId?: string;
  /** IANA zone of the user. A change takes effect when the current period ends. Default: that of the rule. */
  readonly timeZone?: string;
}

/** Result of `record`. */
export interface RecordResult {
  readonly status: RecordStatus;
  /** Points granted by this read; 0 unless rewarded. */
  readonly points: number;
  /** Number of items that count in the user's period. */
  readonly used: number;
  /** Number of items that the period still rewards. */
  readonly remaining: number;
  /** End of the user's period, ms since 1970; null for period `total`. */
  readonly resetsAtMs: number | null;
  /** Id of the grant, for `refund` and for your accounts; null unless rewarded. At most 1,700 characters. */
  readonly grantId: string | null;
}

/** State of a user with one rule. */
export interface RewardStatus {
  readonly rule: string;
  /** Points granted in the user's period. */
  readonly points: number;
  /** Number of items that count in it. */
  readonly used: number;
  /** Number of items that it still rewards. */
  readonly remaining: number;
  /** End of the period, ms since 1970; null for period `total`. */
  readonly resetsAtMs: number | null;
}

/** Result of `refund`. */
export interface RefundResult {
  readonly status: RefundStatus;
  /** Points that your app must take back; 0 unless refunded. */
  readonly points: number;
  /** Number of items that count in the period after the refund; 0 if expired or unknown. */
  readonly used: number;
}

/** Entry of a ledger stream. */
export interface LedgerRow {
  readonly kind: 'grant' | 'refund';
  readonly grantId: string;
  readonly rule: string;
  readonly userId: string;
  readonly itemId: string;
  readonly points: number;
  /** Time of the grant or refund, ms since 1970 by Redis' clock. */
  readonly atMs: number;
}
