// Entry point for code that must not load Nest, such as the command line. Other code imports `index.ts`.
export { Checks, type KnownOptions } from './checks';
export { LuanestError } from './errors';
export { evenTags, slotOf } from './ids';
export { measuredMs, time } from './time';
export { pause } from './waits';
