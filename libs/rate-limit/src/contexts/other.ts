import { RateLimitException } from '../rate-limit.exception';
import type { RateLimitContextAdapter } from './context-adapter';

/** Kinds of context that come from no client: stream messages, delayed tasks and cron jobs. */
export const WORK_KINDS: ReadonlySet<string> = new Set(['stream', 'delayed-task', 'cron']);

/** Adapter of all kinds of context that have no adapter of their own. The client's address is unknown there. */
export const otherAdapter: RateLimitContextAdapter = {
  address: () => undefined,
  refusal: (_context, { decision, status, body }) => new RateLimitException(decision, status, body),
  call: () => undefined,
};
