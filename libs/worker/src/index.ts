export { Attempt, Attempts, Calls, type Work } from './attempts';
export { type Backoff, delayAfter, type ResolvedBackoff, resolveBackoff } from './backoff';
export { Capacity } from './capacity';
export { type EnhancedHandler, enhanceHandler } from './enhanced-handler';
export { type DeadRange, type DeadWork, KNOWN_DEAD_RANGE } from './dead-letters';
export { errorText, type Failure, failureOf, storable } from './failure';
export { WorkLog } from './work-log';
export {
  type AttemptOptions,
  checkAttempts,
  checkTimeout,
  KNOWN_ATTEMPTS,
  KNOWN_WORK,
  type ResolvedWork,
  resolveWork,
  type WorkOptions,
} from './work-options';
