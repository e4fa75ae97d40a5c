import type { ServerResponse } from 'node:http';
import { rawOf, setHeader, type HttpResponse } from './response-recorder';

const PROBLEM = 'application/problem+json; charset=utf-8';

/** Gives the JSON that is about to be sent the content type of a problem (RFC 9457). */
export function sendAsProblem(response: HttpResponse): void {
  const raw = rawOf(response);
  if (raw.headersSent) return;
  if (response.header !== undefined && raw !== (response as unknown))
    return setHeader(response, 'Content-Type', PROBLEM);
  // Nest 11 on Express replaces any other content type of an error, with a warning. So this sets it after Nest has.
  const writeHead = raw.writeHead.bind(raw) as (...args: unknown[]) => ServerResponse;
  raw.writeHead = (...args: unknown[]) => {
    if (String(raw.getHeader('content-type')).startsWith('application/json')) raw.setHeader('Content-Type', PROBLEM);
    return writeHead(...args);
  };
}
