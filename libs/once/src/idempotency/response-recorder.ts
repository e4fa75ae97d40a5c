import { STATUS_CODES, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import { holdHead, isHttp2, restoreHead, type HeldHead } from './http2-head';
import type { StoredResponse } from '../once.types';
import type { Headers, SentResponse } from './stored-response';

/** Parts of a response that Express and Fastify have in common, unless noted. The response of Express is Node's response. */
export interface HttpResponse {
  /** Node's response. Fastify only. */
  readonly raw?: ServerResponse;
  readonly statusCode: number;
  getHeaders(): Headers;
  /** Sets a header. Fastify keeps headers in its own list until it sends the response. */
  header?(name: string, value: string): unknown;
  /** Fastify only: makes Fastify leave the sending to the caller. */
  hijack?(): unknown;
  send?: unknown;
}

export interface ResponseWatcher {
  /**
   * Maximum size of a body that is stored although it is written in pieces, bytes. This is possible only over HTTP/2, for a response with a
   * content-length.
   */
  readonly maxStoredBytes: number;
  /**
   * Called just before the response ends, at most once. Not called if the client closes the connection and no code ends the response.
   *
   * @param sent the whole response, of which nothing was sent yet; undefined if a part was sent already
   * @param send sends the response or its end; must be called
   */
  ending(sent: SentResponse | undefined, send: () => void): void;
}

const TAP = Symbol('luanest:response-tap');

interface Methods {
  end: (this: ServerResponse, ...args: unknown[]) => ServerResponse;
  write: (this: ServerResponse, ...args: unknown[]) => boolean;
  writeHead: (this: ServerResponse, ...args: unknown[]) => ServerResponse;
  flushHeaders: (this: ServerResponse) => void;
}
type Tapped = ServerResponse & { [TAP]: Tap };
type Chunk = string | Uint8Array | null | undefined;
type Callback = () => void;

/** State of a response whose methods `tapResponse` has replaced, with the original methods. */
interface Tap extends Methods {
  readonly watcher: ResponseWatcher;
  /** Headers that were passed to `writeHead`, because `getHeaders` may not return them. */
  head: OutgoingHttpHeaders | readonly unknown[] | undefined;
  /** Status and headers that are held back until the response is stored. Only over HTTP/2. */
  held: HeldHead | undefined;
  /**
   * Pieces of the body that are held back until the response is stored. Only over HTTP/2, where Fastify writes a large body in pieces, and
   * only if the length is known.
   */
  readonly pieces: Uint8Array[];
  /** True if a part of the response was sent before `end` was called. */
  inPieces: boolean;
  ending: boolean;
  /** True once the response may be sent, so that nothing is held back any more. */
  released: boolean;
}

export function rawOf(response: HttpResponse): ServerResponse {
  return response.raw ?? (response as unknown as ServerResponse);
}

export function setHeader(response: HttpResponse, name: string, value: string): void {
  if (response.header === undefined) rawOf(response).setHeader(name, value);
  else response.header(name, value);
}

/** Returns true if a part of the response was sent before its end. */
export function isInPieces(response: ServerResponse): boolean {
  return (response as Partial<Tapped>)[TAP]?.inPieces === true;
}

/**
 * Calls a watcher before a response ends, no matter if Nest, an exception filter or the handler sends it. For this, it replaces methods of
 * the response. All responses share the new methods, because functions per request would cost more.
 * See DECISIONS.md: shared-response-methods
 */
export function tapResponse(response: ServerResponse, watcher: ResponseWatcher): void {
  const own = response as unknown as Methods;
  const { end, write, writeHead, flushHeaders } = own;
  const tap: Tap = {
    watcher,
    end,
    write,
    writeHead,
    flushHeaders,
    head: undefined,
    held: undefined,
    pieces: [],
    inPieces: false,
    ending: false,
    released: false,
  };
  (response as Tapped)[TAP] = tap;
  own.end = tappedEnd as Methods['end'];
  own.write = tappedWrite as Methods['write'];
  own.writeHead = tappedWriteHead as Methods['writeHead'];
  own.flushHeaders = tappedFlushHeaders as Methods['flushHeaders'];
}

function tappedWriteHead(this: Tapped, ...args: [number, unknown?, unknown?]): ServerResponse {
  const tap = this[TAP];
  const fields = (typeof args[1] === 'string' ? args[2] : args[1]) as Tap['head'] | null;
  if (isHttp2(this) && !tap.released && !tap.inPieces) {
    tap.held ??= holdHead(this, args[0], fields);
    return this;
  }
  if (fields !== undefined && fields !== null) tap.head = fields;
  return tap.writeHead.apply(this, args);
}

/** Lets the held-back status and headers be sent with the next write. */
function freeHead(response: Tapped): void {
  const tap = response[TAP];
  if (tap.held !== undefined) restoreHead(response, tap.held);
  tap.held = undefined;
}

function tappedWrite(this: Tapped, ...args: unknown[]): boolean {
  const tap = this[TAP];
  // After `end`, Node's own `write` sends nothing either.
  if (tap.ending && !tap.released) return false;
  if (!tap.released && keepPiece(tap, args)) return true;
  tap.inPieces = true;
  freeHead(this);
  return tap.write.apply(this, args);
}

/**
 * Holds back a piece of the body, and returns true. Returns false if the piece cannot be held back: the body is too large or of unknown
 * length, or the status and headers are not held back, as over HTTP/1.
 */
function keepPiece({ held, pieces, watcher }: Tap, [chunk, encoding, callback]: unknown[]): boolean {
  if (held === undefined || !(Number(held.headers['content-length']) <= watcher.maxStoredBytes)) return false;
  pieces.push(Buffer.from(bodyOf(chunk as Chunk, encoding)));
  const done = typeof encoding === 'function' ? encoding : callback;
  if (typeof done === 'function') process.nextTick(done);
  return true;
}

function tappedFlushHeaders(this: Tapped): void {
  const tap = this[TAP];
  if ((tap.ending || tap.pieces.length > 0) && !tap.released) return;
  tap.inPieces = true;
  freeHead(this);
  tap.flushHeaders.call(this);
}

function tappedEnd(
  this: Tapped,
  chunk?: Chunk | Callback,
  encoding?: BufferEncoding | Callback | null,
  callback?: Callback | null,
): ServerResponse {
  const tap = this[TAP];
  if (tap.released) return tap.end.call(this, chunk, encoding, callback);
  if (tap.ending) return this;
  tap.ending = true;
  let sent: SentResponse | undefined;
  if (!tap.inPieces) {
    let body = typeof chunk === 'function' ? '' : bodyOf(chunk, encoding);
    if (tap.pieces.length > 0) body = chunk = Buffer.concat([...tap.pieces, Buffer.from(body)]);
    sent = { status: this.statusCode, message: messageOf(this), headers: headersOf(this, tap), body };
    // Usually `end` writes the status and headers. Writing them here sets `headersSent`, so that no other code replies as well.
    if (!this.headersSent) writeHead(this, tap, body);
  }
  tap.watcher.ending(sent, () => {
    tap.released = true;
    freeHead(this);
    tap.end.call(this, chunk, encoding, callback);
  });
  return this;
}

function bodyOf(chunk: Chunk, encoding: unknown): string | Uint8Array {
  if (chunk === undefined || chunk === null) return '';
  if (typeof chunk !== 'string' || typeof encoding !== 'string' || /^utf-?8$/i.test(encoding)) return chunk;
  return Buffer.from(chunk, encoding as BufferEncoding);
}

function headersOf(response: ServerResponse, { head }: Tap): Headers {
  // Fastify passes all headers to `writeHead` in one object with names in lower case, so no copy is needed.
  if (head !== undefined && !Array.isArray(head) && response.getHeaderNames().length === 0) return head as Headers;
  const headers = response.getHeaders() as Record<string, Headers[string]>;
  if (head === undefined) return headers;
  if (Array.isArray(head)) {
    const flat = head.flat() as (string | undefined)[];
    for (let i = 0; i < flat.length; i += 2) headers[String(flat[i]).toLowerCase()] = flat[i + 1];
    return headers;
  }
  for (const name in head as OutgoingHttpHeaders) {
    headers[name.toLowerCase()] = (head as OutgoingHttpHeaders)[name];
  }
  return headers;
}

/**
 * Returns the status message; undefined if it is the usual one for the status. Over HTTP/2, responses have no status message, and Node
 * warns if code reads it.
 */
function messageOf(response: ServerResponse): string | undefined {
  if (isHttp2(response)) return undefined;
  const { statusCode, statusMessage } = response;
  return statusMessage === STATUS_CODES[statusCode] ? undefined : statusMessage;
}

function isBodiless(status: number): boolean {
  return status === 204 || status === 304;
}

function writeHead(response: ServerResponse, tap: Tap, body: string | Uint8Array): void {
  const framed = ['content-length', 'transfer-encoding', 'trailer'].some((name) => response.hasHeader(name));
  // Node's `end` sets the content-length only if the headers were not written before. They are written earlier here, so the content-length
  // is set here, too.
  if (!framed && !isBodiless(response.statusCode)) response.setHeader('content-length', Buffer.byteLength(body));
  if (isHttp2(response)) tap.held = holdHead(response, response.statusCode, undefined);
  else tap.writeHead.call(response, response.statusCode);
}

/**
 * Sends a stored response. After that, other code can no longer change or send the response.
 *
 * @param marker name of the header that marks a replay
 */
export function replayResponse(response: HttpResponse, stored: StoredResponse, marker: string): void {
  const raw = rawOf(response);
  // Fastify keeps the headers in a list of its own until it sends a response. It will not send this one, so its headers are copied to
  // Node's response.
  const present = raw === (response as unknown) ? {} : response.getHeaders();
  response.hijack?.();
  for (const name in present) raw.setHeader(name, present[name] as string);
  for (const [name, value] of stored.headers) {
    if (value === null) raw.removeHeader(name);
    else raw.setHeader(name, value);
  }
  if (isBodiless(stored.status)) raw.removeHeader('content-length');
  else if (stored.body.length > 0 || !raw.hasHeader('content-length'))
    raw.setHeader('content-length', Buffer.byteLength(stored.body));
  raw.setHeader(marker, 'true');
  // The status and headers are written before `end`, because a middleware may delay `end`, and nothing must change them meanwhile.
  if (stored.message === undefined || isHttp2(raw)) raw.writeHead(stored.status);
  else raw.writeHead(stored.status, stored.message);
  raw.end(stored.body);
  silence(raw, stored.status);
  if (response.raw !== undefined) response.send = () => response;
}

/** Makes further calls of a response do nothing, because Nest also sends what the interceptors return. */
function silence(raw: ServerResponse, status: number): void {
  const ignored = (): ServerResponse => raw;
  const silent = { end: ignored, setHeader: ignored, appendHeader: ignored, removeHeader: ignored, writeHead: ignored };
  Object.assign(raw, silent, { write: () => false, flushHeaders: () => undefined });
  // Nest sets another status afterwards, but loggers that read the status later must see the one that was sent.
  Object.defineProperty(raw, 'statusCode', { get: () => status, set: () => undefined });
}
