/** Flags for scripts that free memory, or need almost no memory. With these flags, Redis runs the scripts although its memory is full. */
export const FREES_MEMORY = ['allow-oom'] as const;

/**
 * Option `group` of scripts whose work grows with their arguments. A group (calls that are sent together) then has few calls, so that it
 * does not block Redis for long.
 */
export const SMALL_GROUP = { maxCalls: 8 };
