/** Flags of scripts that free memory, or need next to none: a Redis whose memory is full must still run them. */
export const FREES_MEMORY = ['allow-oom'] as const;

/** For scripts whose work grows with their arguments: no group of them keeps Redis busy for long. */
export const SMALL_GROUP = { maxCalls: 8 };

/** Likewise, for scripts that take long by themselves. */
export const ALONE = { maxCalls: 1 };
