// Second entry point of this lib. Code that must not load Nest imports it in place of `index.ts`.
export { Checks, type KnownOptions } from './checks';
export { LuanestError } from './errors';
export { slotOf } from './hash';
export { measuredMs, time } from './time';
export { pause } from './waits';
