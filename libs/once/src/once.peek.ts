import { decodeResponse } from './idempotency/stored-response';
import { decodeResult } from './once.input';
import type { OnceStore } from './once.store';
import { locate } from './once.targets';
import type { OnceTarget, PeekResult } from './once.types';

/**
 * Reads the state of an id, a message or a request.
 *
 * @throws InvalidInputError for an invalid target; nothing is sent then
 */
export async function peekAt(store: OnceStore, target: string | OnceTarget): Promise<PeekResult> {
  const { key, isRequest } = locate(store, target);
  const { status, fence, leaseEndsAtMs, expiresAtMs, result } = await store.peek(key);
  if (status === 'unknown') return { status };
  if (status === 'in-progress') return { status, fence, startedAtMs: Math.floor(fence / 1_000), leaseEndsAtMs };
  const decode = isRequest ? decodeResponse : decodeResult;
  return {
    status: 'done',
    result: status === 'done' ? decode(result) : undefined,
    confirmed: status === 'done',
    expiresAtMs: expiresAtMs === -1 ? undefined : expiresAtMs,
  };
}
