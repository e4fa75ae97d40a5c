/** Flags for scripts that free memory or need almost no memory, so that Redis runs them also when its memory is full. */
export const FREES_MEMORY = ['allow-oom'] as const;

/** Group limits for scripts whose work grows with their arguments, so that a group does not block Redis for long. */
export const SMALL_GROUP = { maxCalls: 8 };
