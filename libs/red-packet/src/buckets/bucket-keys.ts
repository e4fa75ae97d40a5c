/** Names of the keys of a bucket that the scripts begin-activity, open-activity and grab need. grab needs `tries` as well. */
export const ACTIVITY_KEYS = ['meta', 'pool', 'grants', 'outbox'] as const;

/** Names of all keys of a bucket, except PAYOUT_KEYS. */
export const BUCKET_KEYS = [...ACTIVITY_KEYS, 'tries', 'moves', 'voids', 'refunds'] as const;

/** Names of the keys in which stream-consumer keeps the state of a bucket's payouts. */
export const PAYOUT_KEYS = ['dead', 'sessions', 'takes', 'due', 'attempts'] as const;
