import { RateLimitException } from '../rate-limit.exception';
import type { RateLimitContextAdapter } from './context-adapter';

/** Kinds of context without a client: stream messages, delayed tasks and cron jobs. */
export const WORK_KINDS: ReadonlySet<string> = new Set(['stream', 'delayed-task', 'cron']);

/** Adapter of unknown kinds of context: calls have no address. */
export const otherAdapter: RateLimitContextAdapter = {
  address: () => undefined,
  refusal: (_context, { decision, status, body }) => new RateLimitException(decision, status, body),
  call: () => undefined,
};
