import { RateLimitException } from '../rate-limit.exception';
import type { RateLimitContextAdapter } from './context-adapter';

/** Kinds of context in which an app does work of its own: messages of a stream, tasks, jobs. */
export const WORK_KINDS: ReadonlySet<string> = new Set(['stream', 'delayed-task', 'cron']);

/** Kinds of context that have no adapter: nothing is known of where a call comes from. */
export const otherAdapter: RateLimitContextAdapter = {
  address: () => undefined,
  refusal: (_context, { decision, status, body }) => new RateLimitException(decision, status, body),
  call: () => undefined,
};
