/** Flags of scripts that free memory or need almost none: Redis must run them also when its memory is full. */
export const FREES_MEMORY = ['allow-oom'] as const;

/** Group limits of scripts whose work grows with their arguments, so that a group does not block Redis for long. */
export const SMALL_GROUP = { maxCalls: 8 };

/** Group limits of scripts that are slow even alone. */
export const ALONE = { maxCalls: 1 };
