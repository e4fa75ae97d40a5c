import { sharedClockLua, sharedWritesLua } from './generated';

/** Work that grows with its arguments goes alone, so that no group holds Redis for long. */
export const ALONE = { maxCalls: 1 };

/** A full Redis must still be drained: these scripts release memory, or need next to none. */
export const RELEASES = ['allow-oom'] as const;

/** What scripts share that write and read the clock. */
export const CLOCK = sharedClockLua + sharedWritesLua;

/** Most tasks in one call of a script that takes a list of them; each holds Redis for some microseconds. */
export const MAX_CHUNK = 100;
