import { shown } from '../../../internal/src';
import { InvalidOnceInputError } from '../once.errors';
import type { FingerprintResolver } from './idempotency.options';
import { digest, NotComparableError } from './canonical';
import { IdempotencyException } from './idempotency.exception';
import { contentOf, type HttpRequest } from './request-body';

const MAX_KEY_CHARS = 255;
const MAX_ID_CHARS = 512;

/**
 * The key of a request's header: a quoted string, as the draft has it, or the bare text that most clients send.
 *
 * @returns undefined when there is none, null when it is no key
 */
export function readKey(header: string | string[] | undefined): string | null | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== 'string') return null;
  const text = header.trim();
  const key = text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
  return key.length <= MAX_KEY_CHARS && /^[\x21\x23-\x2b\x2d-\x7e]+$/.test(key) ? key : null;
}

/** A subject as text. @throws IdempotencyException for nobody, and TypeError for what is not an id */
export function subjectOf(known: unknown): string {
  if (known === undefined || known === null || known === '') {
    throw new IdempotencyException(
      'SUBJECT_UNKNOWN',
      'The user of this request is unknown, so the key belongs to nobody.',
    );
  }
  if (typeof known === 'string') return known;
  if (typeof known === 'bigint' || (typeof known === 'number' && Number.isSafeInteger(known))) return String(known);
  throw new InvalidOnceInputError(
    `The subject of a request is ${shown(known)}. Return a string, an integer or a bigint.`,
  );
}

/** Texts as one from which each can be told: every one comes after its length. */
function joined(parts: readonly string[]): string {
  let text = '';
  for (const part of parts) text += `${part.length}:${part}`;
  return text;
}

/** The id under which a subject's key is claimed; nobody else's key leads there. */
export function idOf(subject: string, key: string): string {
  const id = `http:${subject.length}:${subject}:${key}`;
  // An id may have 1,024 characters, and must be well-formed.
  return id.length <= MAX_ID_CHARS && id.isWellFormed() ? id : `http-hash:${digest(id)}`;
}

/**
 * Writes what a request with the same key must equal: method, route with its parameters and query, subject, content.
 *
 * @param fingerprint the app's own text for the content; default the body and uploaded files
 * @returns a promise where the content must be read or the app's function is asynchronous
 * @throws IdempotencyException for content that is nested too deeply or cannot be compared
 */
export function fingerprintOf(
  request: HttpRequest,
  subject: string,
  fingerprint: FingerprintResolver | undefined,
): string | Promise<string> {
  const route = [request.method, request.originalUrl ?? request.url, subject, fingerprint ? 'own' : 'content'];
  const finish = (content: string): string => digest(joined([...route, content]));
  if (fingerprint === undefined) {
    const content = comparable(request);
    return typeof content === 'string' ? finish(content) : content.then(finish);
  }
  const own: unknown = fingerprint(request);
  return typeof own === 'object' && own !== null
    ? Promise.resolve(own).then((text) => finish(checked(text)))
    : finish(checked(own));
}

function checked(text: unknown): string {
  if (typeof text === 'string') return text;
  throw new InvalidOnceInputError(`The fingerprint of a request is ${shown(text)}. Return a string.`);
}

/** The content of a request, or the refusal of one whose repeat could not be told from another request. */
function comparable(request: HttpRequest): string | Promise<string> {
  try {
    return contentOf(request);
  } catch (cause) {
    if (cause instanceof RangeError) {
      throw new IdempotencyException('BODY_TOO_DEEP', 'The body is nested too deeply. Send a flatter one.', { cause });
    }
    if (!(cause instanceof NotComparableError)) throw cause;
    throw new IdempotencyException(
      'BODY_NOT_COMPARABLE',
      'The content of this request cannot be compared with that of a repeat, so the route does not take it.',
      { cause },
    );
  }
}
