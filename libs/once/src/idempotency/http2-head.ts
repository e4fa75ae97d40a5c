import type { ServerResponse } from 'node:http';
import type { Headers } from './stored-response';

/** Status and headers of an HTTP/2 response that are held back. `writeHead` would send them before the response is stored in Redis. */
export interface HeldHead {
  readonly status: number;
  readonly headers: Headers;
}

type Fields = Readonly<Record<string, unknown>> | readonly unknown[] | null | undefined;

export function isHttp2(response: ServerResponse): boolean {
  return response.req?.httpVersionMajor === 2;
}

/** Returns true if the client has closed the connection, or over HTTP/2 the stream, of a response. */
export function hasLeft(response: ServerResponse): boolean {
  const { stream } = response as ServerResponse & { readonly stream?: { readonly destroyed: boolean } | null };
  return response.destroyed || stream?.destroyed === true;
}

/**
 * Sets status and headers as `writeHead` does, but without sending them. `headersSent` becomes true, so that other code does not change
 * them.
 * See DECISIONS.md: http2-head-is-held
 */
export function holdHead(response: ServerResponse, status: number, fields: Fields): HeldHead {
  response.statusCode = status;
  const flat = Array.isArray(fields) ? (fields as readonly unknown[]).flat() : Object.entries(fields ?? {}).flat(1);
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const value = flat[i + 1];
    if (value !== undefined && value !== null) response.setHeader(String(flat[i]), value as string);
  }
  const held = { status, headers: { ...response.getHeaders() } };
  Object.defineProperty(response, 'headersSent', { value: true, configurable: true });
  return held;
}

/** Restores the status and the headers that were held back, and removes headers that were set later. */
export function restoreHead(response: ServerResponse, { status, headers }: HeldHead): void {
  delete (response as { headersSent?: boolean }).headersSent;
  // Setting a header can throw after the client has closed the connection.
  if (hasLeft(response)) return;
  for (const name of response.getHeaderNames()) if (!(name in headers)) response.removeHeader(name);
  for (const name in headers) if (!name.startsWith(':')) response.setHeader(name, headers[name] as string);
  response.statusCode = status;
}
