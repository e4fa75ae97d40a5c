/** A full Redis must still let its consumers empty it. */
export const EMPTIES = ['allow-oom'] as const;

/** Scripts whose work grows with what they are given leave in small groups, or alone. */
export const FEW = { maxCalls: 8 };
