/** Flags of scripts that free memory, or need almost none. Redis runs such a script even if its memory is full. */
export const FREES_MEMORY = ['allow-oom'] as const;

/**
 * Option `group` of scripts whose work grows with their arguments. At most 8 calls of such a script run in one EVALSHA, so that Redis is
 * not blocked for long.
 */
export const SMALL_GROUP = { maxCalls: 8 };
