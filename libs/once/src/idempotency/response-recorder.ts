import { STATUS_CODES, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import { holdHead, isHttp2, restoreHead, type HeldHead } from './http2-head';
import type { StoredResponse } from '../once.types';
import type { Headers, SentResponse } from './stored-response';

/** What Express and Fastify responses have in common; Express' is Node's own. */
export interface HttpResponse {
  /** Fastify: Node's response. */
  readonly raw?: ServerResponse;
  readonly statusCode: number;
  getHeaders(): Headers;
  /** Sets a header; Fastify keeps headers of its own until it sends. */
  header?(name: string, value: string): unknown;
  /** Fastify: leaves the response to the caller. */
  hijack?(): unknown;
  send?: unknown;
}

/** Who is told of what a response is about to send. */
export interface ResponseWatcher {
  /** Most bytes of a response that are worth keeping together. */
  readonly maxStoredBytes: number;
  /**
   * The response is about to end.
   *
   * @param sent all of it; undefined where a part of it has gone out already
   * @param send lets it go; the client sees nothing of `sent` before that
   */
  ending(sent: SentResponse | undefined, send: () => void): void;
}

const TAP = Symbol('luanest:response-tap');
/** The methods by which anything leaves a response; called on it. */
interface Methods {
  end: (this: ServerResponse, ...args: unknown[]) => ServerResponse;
  write: (this: ServerResponse, ...args: unknown[]) => boolean;
  writeHead: (this: ServerResponse, ...args: unknown[]) => ServerResponse;
  flushHeaders: (this: ServerResponse) => void;
}
type Tapped = ServerResponse & { [TAP]: Tap };
type Chunk = string | Uint8Array | null | undefined;
type Callback = () => void;

/** Beside a response: what it does by itself, and what is known of it. */
interface Tap extends Methods {
  readonly watcher: ResponseWatcher;
  /** Headers that were given to `writeHead`, which `getHeaders` may not know. */
  head: OutgoingHttpHeaders | readonly unknown[] | undefined;
  /** Over HTTP/2: the head, until the response is stored. */
  held: HeldHead | undefined;
  /** Over HTTP/2, where Fastify writes bodies of more than 16 KiB in pieces: those, of a body whose length is known. */
  readonly pieces: Uint8Array[];
  inPieces: boolean;
  ending: boolean;
  /** Whether the watcher has let the response go. */
  released: boolean;
}

/** Node's response below a platform's. */
export function rawOf(response: HttpResponse): ServerResponse {
  return response.raw ?? (response as unknown as ServerResponse);
}

/** Sets a header on a platform's response, before it is sent. */
export function setHeader(response: HttpResponse, name: string, value: string): void {
  if (response.header === undefined) rawOf(response).setHeader(name, value);
  else response.header(name, value);
}

/** Whether a part of a tapped response has gone out. */
export function isInPieces(response: ServerResponse): boolean {
  return (response as Partial<Tapped>)[TAP]?.inPieces === true;
}

/**
 * Tells a watcher of the end of a response before it happens, whoever sends it: Nest, a filter or the handler.
 *
 * The methods are shared by all responses and find their tap on them: closures for each request would cost more.
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

/** Lets a head go that was held. */
function freeHead(response: Tapped): void {
  const tap = response[TAP];
  if (tap.held !== undefined) restoreHead(response, tap.held);
  tap.held = undefined;
}

function tappedWrite(this: Tapped, ...args: unknown[]): boolean {
  const tap = this[TAP];
  // After the end has been asked for, as Node would have it: nothing more is sent.
  if (tap.ending && !tap.released) return false;
  if (!tap.released && gather(tap, args)) return true;
  tap.inPieces = true;
  freeHead(this);
  return tap.write.apply(this, args);
}

/** Keeps a piece until the end where all of them together can be stored; returns false where they cannot. */
function gather({ held, pieces, watcher }: Tap, [chunk, encoding, callback]: unknown[]): boolean {
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
    // From here on the response counts as sent, as it would without the tap: later answers must not mix into it.
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
  // Fastify's way: everything in one object, with names in lower case.
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

/** HTTP/2 has no status messages, and warns where one is read. */
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
  // What `end` would find out by itself if it came first.
  if (!framed && !isBodiless(response.statusCode)) response.setHeader('content-length', Buffer.byteLength(body));
  if (isHttp2(response)) tap.held = holdHead(response, response.statusCode, undefined);
  else tap.writeHead.call(response, response.statusCode);
}

/** Sends a stored response, and makes the response deaf to whatever else is sent to it. */
export function replayResponse(response: HttpResponse, stored: StoredResponse, marker: string): void {
  const raw = rawOf(response);
  // Fastify keeps headers of its own until it sends, which this takes out of its hands.
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
  // Before the end: a middleware may have `end` wait, and the head must be what it is here when that goes on.
  if (stored.message === undefined || isHttp2(raw)) raw.writeHead(stored.status);
  else raw.writeHead(stored.status, stored.message);
  raw.end(stored.body);
  silence(raw, stored.status);
  if (response.raw !== undefined) response.send = () => response;
}

/** Nest sends what the interceptors answer, and cannot know that the response is over. */
function silence(raw: ServerResponse, status: number): void {
  const ignored = (): ServerResponse => raw;
  const silent = { end: ignored, setHeader: ignored, appendHeader: ignored, removeHeader: ignored, writeHead: ignored };
  Object.assign(raw, silent, { write: () => false, flushHeaders: () => undefined });
  // Loggers read the status when the response has finished.
  Object.defineProperty(raw, 'statusCode', { get: () => status, set: () => undefined });
}
