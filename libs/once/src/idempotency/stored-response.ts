import { isUtf8 } from 'node:buffer';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { StoredResponse } from '../once.types';

/** A header's value as Node holds it. */
type HeaderValue = number | string | readonly string[] | undefined;
/** Headers by their names in lower case. */
export type Headers = Readonly<Record<string, HeaderValue>>;

/** A response as it goes to the client. */
export interface SentResponse {
  readonly status: number;
  /** The text after the status, where it is not the usual one. */
  readonly message?: string | undefined;
  readonly headers: Headers;
  readonly body: string | Uint8Array;
}

/** Of one exchange, or secrets of one client: these are made anew, or not repeated. */
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

/** The headers that came since: those that were there before are there at a replay, too, with values of their own. */
function headersSince(before: Headers, after: Headers): [string, HeaderValue | null][] {
  const since: [string, HeaderValue | null][] = [];
  for (const name in after) {
    const value = after[name];
    // Over HTTP/2 the status is among the headers, as `:status`.
    if (value === undefined || name.startsWith(':') || NOT_STORED.has(name) || same(before[name], value)) continue;
    since.push([name, typeof value === 'number' ? String(value) : value]);
  }
  for (const name in before) if (after[name] === undefined && !NOT_STORED.has(name)) since.push([name, null]);
  return since;
}

/**
 * A response as text: a line of JSON about it, then its body.
 *
 * @param before the headers from before the handler ran
 * @returns undefined for one of more than `maxBytes`
 */
export function encodeResponse(sent: SentResponse, before: Headers, maxBytes: number): string | undefined {
  const { body } = sent;
  const text = typeof body === 'string' || isUtf8(body);
  const headers = headersSince(before, sent.headers);
  // The answer to HEAD: the length is that of a body which is not sent.
  const length = sent.headers['content-length'];
  if (body.length === 0 && Number(length) > 0) headers.push(['content-length', String(length)]);
  const line = [sent.status, headers, text ? 'utf8' : 'base64', ...(sent.message === undefined ? [] : [sent.message])];
  const head = `${JSON.stringify(line)}\n`;
  // Three bytes are the most that a UTF-16 unit can take.
  if (typeof body !== 'string' || 3 * (body.length + head.length) > maxBytes) {
    if (Buffer.byteLength(body) + Buffer.byteLength(head) > maxBytes) return undefined;
  }
  // A lone surrogate goes out as U+FFFD, so it is stored as that.
  if (typeof body === 'string') return head + body.toWellFormed();
  return head + Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString(text ? 'utf8' : 'base64');
}

/** A stored response; undefined where none was kept. @throws TypeError for one that no response can be made of */
export function decodeResponse(stored: string): StoredResponse | undefined {
  const end = stored.indexOf('\n');
  if (end === -1) return undefined;
  const [status, headers, encoding, message] = JSON.parse(stored.slice(0, end)) as [
    number,
    StoredResponse['headers'],
    'utf8' | 'base64',
    string | undefined,
  ];
  // Before anything of it is sent: Redis may have been written to by others.
  if (!Number.isInteger(status) || status < 200 || status > 599) throw new TypeError('The stored status is none.');
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
