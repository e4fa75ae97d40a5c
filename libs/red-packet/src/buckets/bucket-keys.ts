/** Keys of a bucket that every bucket has. */
export const ACTIVITY_KEYS = ['meta', 'pool', 'grants', 'outbox'] as const;

/** All keys of a bucket. */
export const BUCKET_KEYS = [...ACTIVITY_KEYS, 'tries', 'moves', 'voids', 'refunds'] as const;

/** Keys in which stream-consumer keeps the state of a bucket's payouts. */
export const PAYOUT_KEYS = ['dead', 'sessions', 'takes', 'due', 'attempts'] as const;
