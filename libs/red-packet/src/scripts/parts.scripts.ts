import { sharedCentsLua, sharedClockLua } from './generated';

/** Work that grows with its arguments goes alone, so that no group holds Redis for long. */
export const ALONE = { maxCalls: 1 };

/** A full Redis must still be drained: these scripts release memory, or need next to none. */
export const RELEASES = ['allow-oom'] as const;

/** Keys of a bucket that every one has. */
export const ACTIVITY_KEYS = ['meta', 'pool', 'grants', 'outbox'] as const;

/** All keys of a bucket. */
export const BUCKET_KEYS = [...ACTIVITY_KEYS, 'tries', 'moves', 'voids', 'refunds'] as const;

/** Keys in which stream-consumer keeps what becomes of a bucket's payouts. */
export const PAYOUT_KEYS = ['dead', 'sessions', 'takes', 'due', 'attempts'] as const;

/** Redis' time, and cents of pools. */
export const CLOCK_AND_CENTS = sharedClockLua + sharedCentsLua;
