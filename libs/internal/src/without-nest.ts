// Second entry point of this lib, for code that must not load Nest.
export { Checks, type KnownOptions } from './checks';
export { LuanestError } from './errors';
export { slotOf } from './hash';
export { measuredMs, time } from './time';
export { pause } from './waits';
