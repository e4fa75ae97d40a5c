/** Flags of scripts that free memory, or need almost none. Redis runs such a script even if its memory is full. */
export const FREES_MEMORY = ['allow-oom'] as const;

/**
 * Option `group` of scripts whose work grows with their arguments. Few calls of them are sent together, so that Redis is not blocked for
 * long.
 */
export const SMALL_GROUP = { maxCalls: 8 };
