import { shown, InvalidInputError } from '../../internal/src';
import { idOf, readKey } from './idempotency/request-identity';
import type { OnceStore } from './once.store';
import type { OnceTarget } from './once.types';

/** Maximum size of a fingerprint, bytes. The claim in Redis stores the length in four digits. */
const MAX_FINGERPRINT_BYTES = 9_999;

/** Key of a claim in Redis, and facts about what is claimed. */
export interface Located {
  readonly id: string;
  readonly key: string;
  /** True for an HTTP request, whose result is a stored response. */
  readonly isRequest: boolean;
  /** Hash of the content of an HTTP request; '' for anything else. */
  readonly fingerprint: string;
}

/** Returns the key and the facts for a target. @throws InvalidInputError for an invalid target */
export function locate(store: OnceStore, target: string | OnceTarget): Located {
  if (typeof target === 'string') return { id: target, key: store.keyOf(target), isRequest: false, fingerprint: '' };
  const { scope, id, subject, key, fingerprint = '' } = (target ?? {}) as unknown as Record<string, unknown>;
  if (isText(scope) && isText(id)) {
    // The key consists of scope and id, so that the same id in two scopes can be claimed twice.
    return { id, key: store.keyOf(JSON.stringify([scope, id]), 'handler'), isRequest: false, fingerprint: '' };
  }
  const user = typeof subject === 'string' ? subject : isNumber(subject) ? String(subject) : '';
  const named = typeof key === 'string' ? readKey(key) : undefined;
  if (user !== '' && named && typeof fingerprint === 'string') {
    const bytes = Buffer.byteLength(fingerprint);
    if (bytes > MAX_FINGERPRINT_BYTES) {
      throw new InvalidInputError(
        `OnceService: fingerprint has ${bytes} bytes. Expected a text of at most ${MAX_FINGERPRINT_BYTES} bytes in UTF-8, such as a hash.`,
      );
    }
    return { id: named, key: store.keyOf(idOf(user, named), 'request'), isRequest: true, fingerprint };
  }
  throw new InvalidInputError(
    `OnceService: The target is ${shown(target)}. Expected an id, { scope, id } of a message, or { subject, key } of a request with ` +
      'a valid idempotency key.',
  );
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isNumber(value: unknown): boolean {
  return typeof value === 'bigint' || Number.isSafeInteger(value);
}
