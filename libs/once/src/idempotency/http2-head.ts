import type { ServerResponse } from 'node:http';
import type { Headers } from './stored-response';

/** Head of a response that is not sent yet: over HTTP/2, `writeHead` would send it before the response is stored. */
export interface HeldHead {
  readonly status: number;
  readonly headers: Headers;
}

type Fields = Readonly<Record<string, unknown>> | readonly unknown[] | null | undefined;

/** Returns true for a response over HTTP/2. */
export function isHttp2(response: ServerResponse): boolean {
  return response.req?.httpVersionMajor === 2;
}

/** Returns true when the client has closed the connection or, over HTTP/2, the stream. */
export function hasLeft(response: ServerResponse): boolean {
  const { stream } = response as ServerResponse & { readonly stream?: { readonly destroyed: boolean } | null };
  return response.destroyed || stream?.destroyed === true;
}

// See DECISIONS.md: http2-head-is-held
/** Sets status and headers like `writeHead`, but sends nothing. `headersSent` is then true, so other code leaves the head alone. */
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

/** Sets the head of `holdHead` again, and drops headers that were set since. */
export function restoreHead(response: ServerResponse, { status, headers }: HeldHead): void {
  delete (response as { headersSent?: boolean }).headersSent;
  // The client has left, and setting a header could throw.
  if (hasLeft(response)) return;
  for (const name of response.getHeaderNames()) if (!(name in headers)) response.removeHeader(name);
  for (const name in headers) if (!name.startsWith(':')) response.setHeader(name, headers[name] as string);
  response.statusCode = status;
}
