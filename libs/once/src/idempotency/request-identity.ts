import { shown } from '../../../internal/src';
import { InvalidOnceInputError } from '../once.errors';
import type { FingerprintResolver } from './idempotency.options';
import { digest, NotComparableError } from './canonical';
import { IdempotencyException } from './idempotency.exception';
import { contentOf, type HttpRequest } from './request-body';

const MAX_KEY_CHARS = 255;
const MAX_ID_CHARS = 512;

/**
 * Reads the key from a header: a quoted string, as in the IETF draft, or a text without quotes, as most clients send it.
 *
 * @returns undefined if there is no header, null if its value is not a valid key
 */
export function readKey(header: string | string[] | undefined): string | null | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== 'string') return null;
  const text = header.trim();
  const key = text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
  return key.length <= MAX_KEY_CHARS && /^[\x21\x23-\x2b\x2d-\x7e]+$/.test(key) ? key : null;
}

/** Returns a subject as text. @throws IdempotencyException for an unknown user, InvalidOnceInputError for a value that is not an id */
export function subjectOf(known: unknown): string {
  if (known === undefined || known === null || known === '') {
    throw new IdempotencyException('SUBJECT_UNKNOWN', 'This request has no authenticated user.');
  }
  if (typeof known === 'string') return known;
  if (typeof known === 'bigint' || (typeof known === 'number' && Number.isSafeInteger(known))) return String(known);
  throw new InvalidOnceInputError(
    `idempotency.subject returned ${shown(known)}. Expected a string, an integer or a bigint.`,
  );
}

/** Joins texts, each after its length, so that different lists of texts never give the same result. */
function joined(parts: readonly string[]): string {
  let text = '';
  for (const part of parts) text += `${part.length}:${part}`;
  return text;
}

/** Returns the id under which a subject's key is claimed. Keys of other subjects never have the same id. */
export function idOf(subject: string, key: string): string {
  const id = `http:${subject.length}:${subject}:${key}`;
  // An id has at most 1,024 characters, and must be well-formed Unicode.
  return id.length <= MAX_ID_CHARS && id.isWellFormed() ? id : `http-hash:${digest(id)}`;
}

/**
 * Returns a hash of the parts in which a repeat must equal the first request: method, URL with path and query, subject,
 * content.
 *
 * @param fingerprint function of the app that returns the content as text. Default: the body and uploaded files
 * @returns a promise if a Blob must be read or the function of the app is async
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
  throw new InvalidOnceInputError(`fingerprint returned ${shown(text)}. Expected a string.`);
}

/** Returns the content of a request as text. @throws IdempotencyException if it cannot be compared with the content of a repeat */
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
      'The content of this request cannot be compared with that of a repeat, so this route refuses it.',
      { cause },
    );
  }
}
