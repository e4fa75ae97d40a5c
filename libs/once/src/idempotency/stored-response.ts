import { HttpException } from '@nestjs/common';

type HeaderValue = number | string | string[] | undefined;
type Headers = Readonly<Record<string, HeaderValue>>;

/** What Express and Fastify responses have in common. */
export interface HttpResponse {
  readonly statusCode: number;
  /** Express. */
  readonly headersSent?: boolean;
  /** Fastify. */
  readonly sent?: boolean;
  getHeaders(): Headers;
}

/** A response as it is stored: what a handler answered, before the platform writes it. */
export interface StoredResponse {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string | string[]])[];
  readonly kind: 'json' | 'none' | 'bytes' | 'error';
  readonly body?: unknown;
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

/** The headers that the handler has set: those that were there before are there at a replay, too. */
function headersSince(before: Headers, after: Headers): StoredResponse['headers'] {
  return Object.entries(after).flatMap(([name, value]) => {
    if (value === undefined || NOT_STORED.has(name.toLowerCase())) return [];
    if (JSON.stringify(before[name]) === JSON.stringify(value)) return [];
    return [[name, Array.isArray(value) ? value : String(value)] as const];
  });
}

/** Whether a body can be had again from what is stored: data and bytes can, streams cannot. */
function isData(body: unknown): boolean {
  if (typeof body === 'function' || typeof body === 'symbol' || typeof body === 'bigint') return false;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return true;
  const { pipe, getStream, getReader } = body as Record<string, unknown>;
  return ![pipe, getStream, getReader].some((member) => typeof member === 'function');
}

/** What a handler answered; undefined for what cannot be stored: streams, and what it has sent by itself. */
export function captureAnswer(response: HttpResponse, before: Headers, body: unknown): StoredResponse | undefined {
  if (response.headersSent === true || response.sent === true || !isData(body)) return undefined;
  const base = { status: response.statusCode, headers: headersSince(before, response.getHeaders()) };
  if (body === undefined) return { ...base, kind: 'none' };
  if (body instanceof Uint8Array) return { ...base, kind: 'bytes', body: Buffer.from(body).toString('base64') };
  return { ...base, kind: 'json', body };
}

/** What a handler threw, as Nest's own filter would answer it. */
export function captureError(response: HttpResponse, before: Headers, error: unknown): StoredResponse {
  const headers = headersSince(before, response.getHeaders());
  if (!(error instanceof HttpException)) {
    return { status: 500, headers, kind: 'error', body: { statusCode: 500, message: 'Internal server error' } };
  }
  return { status: error.getStatus(), headers, kind: 'error', body: error.getResponse() };
}

/** The value that a handler would return, or throw, to be answered so again. */
export function replayed({ kind, status, body }: StoredResponse): unknown {
  if (kind === 'error') throw new HttpException(body as string | Record<string, unknown>, status);
  if (kind === 'bytes') return Buffer.from(String(body), 'base64');
  return kind === 'none' ? undefined : body;
}
