/** Keys that a grab, a creation and an opening need. */
export const ACTIVITY_KEYS = ['meta', 'pool', 'grants', 'outbox'] as const;

/** All keys of a bucket. */
export const BUCKET_KEYS = [...ACTIVITY_KEYS, 'tries', 'moves', 'voids', 'refunds'] as const;

/** Keys of stream-consumer that hold the state of a bucket's payouts. */
export const PAYOUT_KEYS = ['dead', 'sessions', 'takes', 'due', 'attempts'] as const;
