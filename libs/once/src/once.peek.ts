import { shown } from '../../internal/src';
import { idOf, readKey } from './idempotency/request-identity';
import { decodeResponse } from './idempotency/stored-response';
import { InvalidOnceInputError } from './once.errors';
import { decodeResult } from './once.input';
import type { OnceStore } from './once.store';
import type { PeekAnswer, PeekTarget } from './once.types';

/** Returns the id under which `@Once()` claims a message: scope and message id together, so that scopes do not collide. */
export function messageIdOf(scope: string, id: string): string {
  return JSON.stringify([scope, id]);
}

/**
 * Reads the state of an id, a message or a request.
 *
 * @throws InvalidOnceInputError for an invalid target; nothing is sent then
 */
export async function peekAt(store: OnceStore, target: string | PeekTarget): Promise<PeekAnswer> {
  const [key, decode] = locate(store, target);
  const { status, fence, leaseEndsAtMs, expiresAtMs, result } = await store.peek(key);
  if (status === 'unknown') return { status };
  if (status === 'in-progress') return { status, fence, startedAtMs: Math.floor(fence / 1_000), leaseEndsAtMs };
  return {
    status: 'done',
    result: status === 'done' ? decode(result) : undefined,
    confirmed: status === 'done',
    expiresAtMs: expiresAtMs === -1 ? undefined : expiresAtMs,
  };
}

function locate(store: OnceStore, target: string | PeekTarget): [key: string, decode: (stored: string) => unknown] {
  if (typeof target === 'string') return [store.keyOf(target), decodeResult];
  const { scope, id, subject, key } = (target ?? {}) as Record<string, unknown>;
  if (isText(scope) && isText(id)) return [store.keyOf(messageIdOf(scope, id), 'handler'), decodeResult];
  const user = typeof subject === 'string' ? subject : isNumber(subject) ? String(subject) : '';
  const named = typeof key === 'string' ? readKey(key) : undefined;
  if (user !== '' && named) return [store.keyOf(idOf(user, named), 'request'), decodeResponse];
  throw new InvalidOnceInputError(
    `The target of peek is ${shown(target)}. Expected an id, { scope, id } of a message, or { subject, key } of a request ` +
      'with a valid idempotency key.',
  );
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isNumber(value: unknown): boolean {
  return typeof value === 'bigint' || Number.isSafeInteger(value);
}
