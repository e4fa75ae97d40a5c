/** Names of the keys of a bucket that the script begin-activity needs. */
export const ACTIVITY_KEYS = ['meta', 'pool', 'grants'] as const;

/** Names of all keys that belong to one bucket. The outbox belongs to the partition. */
export const BUCKET_KEYS = [...ACTIVITY_KEYS, 'tries', 'moves', 'voids', 'refunds', 'dead'] as const;
