/** Names of the keys that the script begin-activity needs. A bucket is a shard of an activity with its own pool of packets. */
export const ACTIVITY_KEYS = ['meta', 'pool', 'grants'] as const;

/**
 * Names of all keys that belong to one bucket. The outbox (stream of open payouts) is not one of them: all buckets of a partition
 * share it.
 */
export const BUCKET_KEYS = [...ACTIVITY_KEYS, 'tries', 'moves', 'voids', 'refunds', 'dead'] as const;
