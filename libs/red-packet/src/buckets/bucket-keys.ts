/** Names of the keys that the script begin-activity needs for a bucket (shard of an activity). */
export const ACTIVITY_KEYS = ['meta', 'pool', 'grants'] as const;

/**
 * Names of all keys of one bucket. The outbox, the stream of open payouts, is not among them, because all buckets of a partition share it.
 */
export const BUCKET_KEYS = [...ACTIVITY_KEYS, 'tries', 'moves', 'voids', 'refunds', 'dead'] as const;
