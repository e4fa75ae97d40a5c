import { shown, InvalidInputError } from '../../../internal/src';
import type { IdempotencyRouteOptions } from './idempotency.options';
import { digest, NotComparableError } from './canonical';
import { IdempotencyException } from './idempotency.exception';
import { contentOf, type HttpRequest } from './request-body';

const MAX_KEY_CHARS = 255;
const MAX_ID_CHARS = 512;

/**
 * Reads the idempotency key from the value of a header. The value may be in quotation marks, as the IETF draft demands, or
 * without, as most clients send it.
 *
 * @returns the key; undefined if the header is missing; null if the value is not a valid key
 */
export function readKey(header: string | string[] | undefined): string | null | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== 'string') return null;
  const text = header.trim();
  const key = text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
  return key.length <= MAX_KEY_CHARS && /^[\x21\x23-\x2b\x2d-\x7e]+$/.test(key) ? key : null;
}

/**
 * Returns the id of the user as text.
 *
 * @param known result of the app's `subject` function
 * @throws IdempotencyException if the user is unknown, InvalidInputError if the result is not an id
 */
export function subjectOf(known: unknown): string {
  if (known === undefined || known === null || known === '') {
    throw new IdempotencyException(
      'SUBJECT_UNKNOWN',
      'This request has no authenticated user. Log in, and send it again.',
    );
  }
  if (typeof known === 'string') return known;
  if (typeof known === 'bigint' || (typeof known === 'number' && Number.isSafeInteger(known))) return String(known);
  throw new InvalidInputError(
    `OnceModule: idempotency.subject returned ${shown(known)} for a request. Expected the user's id: a string, a bigint, or an integer from -(2^53 - 1) to 2^53 - 1.`,
  );
}

/** Joins texts, with the length of each text before it, so that different lists never give the same result. */
function joined(parts: readonly string[]): string {
  let text = '';
  for (const part of parts) text += `${part.length}:${part}`;
  return text;
}

/** Returns the id under which a user's idempotency key is claimed. It differs for different users. */
export function idOf(subject: string, key: string): string {
  const id = `http:${subject.length}:${subject}:${key}`;
  // Hashing long ids saves memory in Redis. Text that is not well-formed Unicode must be hashed, because ids must be well-formed.
  return id.length <= MAX_ID_CHARS && id.isWellFormed() ? id : `http-hash:${digest(id)}`;
}

/**
 * Returns the hash by which a request is compared with its repeats. It covers method, URL with path and query, user, and content.
 *
 * @param fingerprint function of the app that returns a text to compare instead of the content. Undefined: the body and the uploaded files
 *   are compared
 * @returns the hash; a promise of the hash if a Blob must be read or the function of the app is async
 * @throws IdempotencyException for content that is nested too deeply or cannot be compared; InvalidInputError if the function of the app
 *   does not return text
 */
export function fingerprintOf(
  request: HttpRequest,
  subject: string,
  fingerprint: IdempotencyRouteOptions['fingerprint'],
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
  throw new InvalidInputError(
    `The option fingerprint of an idempotent route returned ${shown(text)}. Expected a string.`,
  );
}

function comparable(request: HttpRequest): string | Promise<string> {
  try {
    return contentOf(request);
  } catch (cause) {
    if (cause instanceof RangeError) {
      throw new IdempotencyException('BODY_TOO_DEEP', 'The body is nested too deeply. Send a body with fewer levels.', {
        cause,
      });
    }
    if (!(cause instanceof NotComparableError)) throw cause;
    throw new IdempotencyException(
      'BODY_NOT_COMPARABLE',
      'This route cannot compare the content of this request with the content of a repeat, so it refused the request. Send content ' +
        'that can be compared, such as JSON.',
      { cause },
    );
  }
}
