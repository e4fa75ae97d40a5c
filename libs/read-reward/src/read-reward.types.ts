export type RecordStatus = 'rewarded' | 'duplicate' | 'capped';

export type RefundStatus = 'refunded' | 'already-refunded' | 'expired' | 'unknown';

/** Parameters of `record`: a user has read an item. */
export interface RecordRead {
  /** Name of a rule in the options of the module. */
  readonly rule: string;
  /** Id of the user; 1 to 256 characters. */
  readonly userId: string;
  /** Id of the item; 1 to 256 characters. */
  readonly itemId: string;
  /**
   * Id of the operation, 1 to 256 characters. Within `operationRetentionMs`, each call with the same rule, user and operation id returns
   * the first result, even for another item. Default: none. Then only a command that ioredis sends again by itself returns the first
   * result.
   */
  readonly operationId?: string;
  /**
   * IANA time zone of the user. Default: the zone of the rule. If the zone differs from the zone of the user's last grant, it takes
   * effect when the period of that grant ends.
   */
  readonly timeZone?: string;
}

/** Result of `record`. */
export interface RecordResult {
  /**
   * `rewarded`: points were granted. `duplicate`: the item has been rewarded already. `capped`: the item is new, but the period is full.
   */
  readonly status: RecordStatus;
  /** Points that were granted; 0 unless `status` is `rewarded`. */
  readonly points: number;
  /** Number of items that count in the user's period. */
  readonly used: number;
  /** Number of items that the period still rewards. */
  readonly remaining: number;
  /** End of the user's period, ms since 1970; null for period `total`. */
  readonly resetsAtMs: number | null;
  /**
   * Id of the grant, for `refund` and for your own records; null unless `status` is `rewarded`. At most 4,800 characters, or 1,700 if
   * the ids of user and item are ASCII.
   */
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
   * `refunded`: this call refunded the grant. `already-refunded`: an earlier call did. `expired`: the period of the grant is over, or Redis
   * has forgotten it. `unknown`: the user's period has no such grant; perhaps it was refunded more than `operationRetentionMs` ago.
   */
  readonly status: RefundStatus;
  /** Points that your app must take back from the user; 0 unless `status` is `refunded`. */
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
