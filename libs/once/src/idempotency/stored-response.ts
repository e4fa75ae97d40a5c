import { isUtf8 } from 'node:buffer';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { StoredResponse } from '../once.types';

/** Value of a header, as Node keeps it. */
type HeaderValue = number | string | readonly string[] | undefined;
/** Headers by their names in lower case. */
export type Headers = Readonly<Record<string, HeaderValue>>;

/** Response as it is sent to the client. */
export interface SentResponse {
  readonly status: number;
  /** Status message (reason phrase), if it is not the usual one. */
  readonly message?: string | undefined;
  readonly headers: Headers;
  readonly body: string | Uint8Array;
}

/** Headers that are not stored: they belong to one connection, are computed again, or are secrets of one client (cookies). */
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

/** Returns the headers that changed since `before`. The others are not stored: a replay has its own values of them. */
function headersSince(before: Headers, after: Headers): [string, HeaderValue | null][] {
  const since: [string, HeaderValue | null][] = [];
  for (const name in after) {
    const value = after[name];
    // HTTP/2 has the status as a header, `:status`.
    if (value === undefined || name.startsWith(':') || NOT_STORED.has(name) || same(before[name], value)) continue;
    since.push([name, typeof value === 'number' ? String(value) : value]);
  }
  for (const name in before) if (after[name] === undefined && !NOT_STORED.has(name)) since.push([name, null]);
  return since;
}

/**
 * Writes a response as text: a line of JSON with status and headers, then the body.
 *
 * @param before headers before the handler ran
 * @returns undefined if the text has more than `maxBytes` bytes
 */
export function encodeResponse(sent: SentResponse, before: Headers, maxBytes: number): string | undefined {
  const { body } = sent;
  const text = typeof body === 'string' || isUtf8(body);
  const headers = headersSince(before, sent.headers);
  // A response to HEAD has the length of a body that is not sent.
  const length = sent.headers['content-length'];
  if (body.length === 0 && Number(length) > 0) headers.push(['content-length', String(length)]);
  const line = [sent.status, headers, text ? 'utf8' : 'base64', ...(sent.message === undefined ? [] : [sent.message])];
  const head = `${JSON.stringify(line)}\n`;
  // A UTF-16 unit has at most three bytes in UTF-8, so a short text needs no exact count.
  if (typeof body !== 'string' || 3 * (body.length + head.length) > maxBytes) {
    if (Buffer.byteLength(body) + Buffer.byteLength(head) > maxBytes) return undefined;
  }
  // Node sends a lone surrogate as U+FFFD, so it is stored as that.
  if (typeof body === 'string') return head + body.toWellFormed();
  return head + Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString(text ? 'utf8' : 'base64');
}

/** Parses a stored response; returns undefined if there is none. @throws TypeError or SyntaxError if another program changed it to an invalid one */
export function decodeResponse(stored: string): StoredResponse | undefined {
  const end = stored.indexOf('\n');
  if (end === -1) return undefined;
  const [status, headers, encoding, message] = JSON.parse(stored.slice(0, end)) as [
    number,
    StoredResponse['headers'],
    'utf8' | 'base64',
    string | undefined,
  ];
  // Checked before anything is sent: another program may have written to the key.
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new TypeError('The status of the stored response is invalid.');
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
