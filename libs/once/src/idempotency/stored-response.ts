import { isUtf8 } from 'node:buffer';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { StoredResponse } from '../once.types';

type HeaderValue = number | string | readonly string[] | undefined;
/** Headers by their names in lower case. */
export type Headers = Readonly<Record<string, HeaderValue>>;

/** A response as the client gets it. */
export interface SentResponse {
  readonly status: number;
  /** Status message (reason phrase); undefined if it is the usual message of the status. */
  readonly message?: string | undefined;
  readonly headers: Headers;
  readonly body: string | Uint8Array;
}

/** Headers that are not stored: cookies are secrets, and the others belong to one connection or are computed for each response. */
const NOT_STORED = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'set-cookie',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

function same(a: HeaderValue, b: HeaderValue): boolean {
  return a === b || (typeof a === 'object' && typeof b === 'object' && JSON.stringify(a) === JSON.stringify(b));
}

/**
 * Returns the headers that the handler has set or changed; null as the value if it has removed the header. Only these are stored, because a
 * replay has its own values for the others.
 */
function headersSince(before: Headers, after: Headers): [string, HeaderValue | null][] {
  const since: [string, HeaderValue | null][] = [];
  for (const name in after) {
    const value = after[name];
    // Over HTTP/2, names with a colon, such as `:status`, are not headers.
    if (value === undefined || name.startsWith(':') || NOT_STORED.has(name) || same(before[name], value)) continue;
    since.push([name, typeof value === 'number' ? String(value) : value]);
  }
  for (const name in before) if (after[name] === undefined && !NOT_STORED.has(name)) since.push([name, null]);
  return since;
}

/** A stored response, with its text for Redis, so that it is encoded only once. */
export class EncodedResponse implements StoredResponse {
  readonly status: number;
  readonly message: string | undefined;
  readonly headers: StoredResponse['headers'];
  readonly #text: string;

  constructor({ status, message, headers }: StoredResponse, text: string) {
    this.status = status;
    this.message = message;
    this.headers = headers;
    this.#text = text;
  }

  // OnceService stores the text only. Tests with a mock of OnceService read the body.
  get body(): string | Buffer {
    return decodeResponse(this.#text)?.body ?? '';
  }

  get text(): string {
    return this.#text;
  }
}

/**
 * Returns a response in the form in which it is stored; undefined if it is too large.
 *
 * @param before headers of the response before the handler ran
 */
export function responseToStore(sent: SentResponse, before: Headers, maxBytes: number): EncodedResponse | undefined {
  const { status, message, body } = sent;
  const headers = headersSince(before, sent.headers) as [string, string | string[] | null][];
  // The response to a HEAD request has no body, but the content-length that a GET would have. So this length must be stored.
  const length = sent.headers['content-length'];
  if (body.length === 0 && Number(length) > 0) headers.push(['content-length', String(length)]);
  const stored = { status, message, headers, body: typeof body === 'string' ? body : bufferOf(body) };
  const text = encodeStored(stored, maxBytes);
  return text === undefined ? undefined : new EncodedResponse(stored, text);
}

function bufferOf(body: Uint8Array): Buffer {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}

/**
 * Encodes a response as text for Redis. The first line is JSON with the status and the headers. The rest is the body, in base64 if the body
 * is not UTF-8.
 *
 * @returns the text; undefined if the first line and the raw body together have more than `maxBytes` bytes
 */
export function encodeStored({ status, message, headers, body }: StoredResponse, maxBytes: number): string | undefined {
  const text = typeof body === 'string' || isUtf8(body);
  const line = [status, headers, text ? 'utf8' : 'base64', ...(message === undefined ? [] : [message])];
  const head = `${JSON.stringify(line)}\n`;
  // A UTF-16 unit takes at most three bytes in UTF-8, so the bytes of a short text need not be counted.
  if (typeof body !== 'string' || 3 * (body.length + head.length) > maxBytes) {
    if (Buffer.byteLength(body) + Buffer.byteLength(head) > maxBytes) return undefined;
  }
  // Node sends U+FFFD for a lone surrogate, so the stored text gets the same.
  if (typeof body === 'string') return head + body.toWellFormed();
  return head + body.toString(text ? 'utf8' : 'base64');
}

/**
 * Parses a stored response; undefined if the request was confirmed without a response.
 *
 * @throws TypeError, SyntaxError if another program has damaged the text
 */
export function decodeResponse(stored: string): StoredResponse | undefined {
  const end = stored.indexOf('\n');
  if (end === -1) return undefined;
  const [status, headers, encoding, message] = JSON.parse(stored.slice(0, end)) as [
    number,
    StoredResponse['headers'],
    'utf8' | 'base64',
    string | undefined,
  ];
  // Another program may have written to the key. The values are checked before anything is sent to the client.
  if (!Number.isInteger(status) || status < 100 || status > 999)
    throw new TypeError(
      'The stored response of an idempotent request has a status that is not an integer from 100 to 999. Another program may have written to its key in Redis.',
    );
  if (message !== undefined) validateHeaderValue('status message', message);
  for (const [name, value] of headers) {
    validateHeaderName(name);
    if (value !== null) for (const one of [value].flat()) validateHeaderValue(name, one);
  }
  const body = stored.slice(end + 1);
  return {
    status,
    message,
    headers,
    body: encoding === 'utf8' ? body : Buffer.from(body, 'base64'),
  };
}
