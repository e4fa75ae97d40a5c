export type RecordStatus = 'rewarded' | 'duplicate' | 'capped';

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
   * even with another item, for `operationRetentionMs`. Default none: only a command that ioredis sends again gets its first result.
   */
  readonly operationId?: string;
  /**
   * IANA zone of the user. Another zone than that of the user's last grant takes effect when the period of that grant ends.
   * Default: the zone of the rule.
   */
  readonly timeZone?: string;
}

/** Result of `record`. */
export interface RecordResult {
  /** `rewarded`; `duplicate` if the item counts already; `capped` if the item is new but the period is full. */
  readonly status: RecordStatus;
  /** Points that were granted; 0 unless rewarded. */
  readonly points: number;
  /** Number of items that count in the user's period. */
  readonly used: number;
  /** Number of items that the period still rewards. */
  readonly remaining: number;
  /** End of the user's period, ms since 1970; null for period `total`. */
  readonly resetsAtMs: number | null;
  /** Id of the grant, for `refund` and for your accounts; null unless rewarded. At most 4,800 characters, or 1,700 if the ids are ASCII. */
  readonly grantId: string | null;
}

/** Points and remaining items of a user under one rule. */
export interface RewardStatus {
  readonly rule: string;
  /** Points that were granted in the user's period and not refunded. */
  readonly points: number;
  /** Number of items that count in the user's period. */
  readonly used: number;
  /** Number of items that the period still rewards. */
  readonly remaining: number;
  /** End of the user's period, ms since 1970; null for period `total`. */
  readonly resetsAtMs: number | null;
}

/** Result of `refund`. */
export interface RefundResult {
  /**
   * `refunded`: by this call. `already-refunded`: by an earlier call. `expired`: the period of the grant is over, or Redis has no
   * period of the user. `unknown`: the user's period has no such grant; it may have been refunded more than `operationRetentionMs`
   * ago.
   */
  readonly status: RefundStatus;
  /** Points that your app must take back; 0 unless refunded. */
  readonly points: number;
  /** Number of items that count in the period after the refund; 0 if the status is `expired` or `unknown`. */
  readonly used: number;
}

/** Entry of a ledger stream: one grant or one refund. */
export interface LedgerRow {
  readonly kind: 'grant' | 'refund';
  readonly grantId: string;
  readonly rule: string;
  readonly userId: string;
  readonly itemId: string;
  /** Points that were granted or refunded; never negative. */
  readonly points: number;
  /** Time of the grant or refund, ms since 1970 by Redis' clock. */
  readonly atMs: number;
}
