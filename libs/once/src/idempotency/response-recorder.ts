import { STATUS_CODES, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import { holdHead, isHttp2, restoreHead, type HeldHead } from './http2-head';
import type { StoredResponse } from '../once.types';
import type { Headers, SentResponse } from './stored-response';

/** Properties that responses of Express and of Fastify have. The response of Express is Node's response. */
export interface HttpResponse {
  /** Node's response; Fastify only. */
  readonly raw?: ServerResponse;
  readonly statusCode: number;
  getHeaders(): Headers;
  /** Sets a header. Fastify keeps its headers apart from Node's until it sends the response. */
  header?(name: string, value: string): unknown;
  /** Makes Fastify leave the response to the caller; Fastify only. */
  hijack?(): unknown;
  send?: unknown;
}

/** Gets a response before it is sent. */
export interface ResponseWatcher {
  /** Maximum size of a body that is collected from pieces, bytes. */
  readonly maxStoredBytes: number;
  /**
   * The response is about to end.
   *
   * @param sent the whole response; undefined if a part of it was sent already
   * @param send sends it; before that, the client gets nothing of `sent`
   */
  ending(sent: SentResponse | undefined, send: () => void): void;
}

const TAP = Symbol('luanest:response-tap');

/** Methods of Node's response that send anything. */
interface Methods {
  end: (this: ServerResponse, ...args: unknown[]) => ServerResponse;
  write: (this: ServerResponse, ...args: unknown[]) => boolean;
  writeHead: (this: ServerResponse, ...args: unknown[]) => ServerResponse;
  flushHeaders: (this: ServerResponse) => void;
}
type Tapped = ServerResponse & { [TAP]: Tap };
type Chunk = string | Uint8Array | null | undefined;
type Callback = () => void;

/** State of a tapped response, and its original methods. */
interface Tap extends Methods {
  readonly watcher: ResponseWatcher;
  /** Headers that were passed to `writeHead`; `getHeaders` may not return them. */
  head: OutgoingHttpHeaders | readonly unknown[] | undefined;
  /** Head that is not sent yet, until the response is stored; HTTP/2 only. */
  held: HeldHead | undefined;
  /** Pieces of a body whose length is known; HTTP/2 only, where Fastify writes a body of more than 16 KiB in pieces. */
  readonly pieces: Uint8Array[];
  /** True if a part of the response was sent before its end. */
  inPieces: boolean;
  /** True after the first call of `end`. */
  ending: boolean;
  /** True if the watcher has called `send`. */
  released: boolean;
}

/** Returns Node's response of a platform's response. */
export function rawOf(response: HttpResponse): ServerResponse {
  return response.raw ?? (response as unknown as ServerResponse);
}

/** Sets a header on a platform's response, before it is sent. */
export function setHeader(response: HttpResponse, name: string, value: string): void {
  if (response.header === undefined) rawOf(response).setHeader(name, value);
  else response.header(name, value);
}

/** Returns true if a part of a tapped response was sent before its end. */
export function isInPieces(response: ServerResponse): boolean {
  return (response as Partial<Tapped>)[TAP]?.inPieces === true;
}

/**
 * Calls a watcher before a response is sent, no matter if Nest, a filter or the handler sends it.
 *
 * It replaces methods of the response by functions that all responses share: closures for each request would cost more.
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

/** Sets the head that was held, so that it is sent. */
function freeHead(response: Tapped): void {
  const tap = response[TAP];
  if (tap.held !== undefined) restoreHead(response, tap.held);
  tap.held = undefined;
}

function tappedWrite(this: Tapped, ...args: unknown[]): boolean {
  const tap = this[TAP];
  // After `end` was called, nothing more is sent: Node does the same.
  if (tap.ending && !tap.released) return false;
  if (!tap.released && keepPiece(tap, args)) return true;
  tap.inPieces = true;
  freeHead(this);
  return tap.write.apply(this, args);
}

/** Keeps a piece until the end, if the whole body can be stored. Returns false otherwise. */
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
    // Writes the head, as `end` would do without the tap: then `headersSent` is true, and no other code replies a second time.
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
  // Fastify passes all headers in one object, with names in lower case.
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

/** Returns the status message if it is not the usual one. HTTP/2 has none, and warns when it is read. */
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
  // `end` sets it by itself only if no head was written before.
  if (!framed && !isBodiless(response.statusCode)) response.setHeader('content-length', Buffer.byteLength(body));
  if (isHttp2(response)) tap.held = holdHead(response, response.statusCode, undefined);
  else tap.writeHead.call(response, response.statusCode);
}

/** Sends a stored response, and then makes the response ignore all further calls. @param marker header that marks a replay */
export function replayResponse(response: HttpResponse, stored: StoredResponse, marker: string): void {
  const raw = rawOf(response);
  // Fastify keeps its headers apart until it sends the response. It will not send this one, so they are copied.
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
  // Before `end`: a middleware may delay `end`, and must not change the head until then.
  if (stored.message === undefined || isHttp2(raw)) raw.writeHead(stored.status);
  else raw.writeHead(stored.status, stored.message);
  raw.end(stored.body);
  silence(raw, stored.status);
  if (response.raw !== undefined) response.send = () => response;
}

/** Makes a response ignore further calls: Nest sends the value of the interceptors, although the response has ended. */
function silence(raw: ServerResponse, status: number): void {
  const ignored = (): ServerResponse => raw;
  const silent = { end: ignored, setHeader: ignored, appendHeader: ignored, removeHeader: ignored, writeHead: ignored };
  Object.assign(raw, silent, { write: () => false, flushHeaders: () => undefined });
  // Loggers read the status after the response has finished.
  Object.defineProperty(raw, 'statusCode', { get: () => status, set: () => undefined });
}
