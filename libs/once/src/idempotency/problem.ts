import type { ServerResponse } from 'node:http';
import { rawOf, setHeader, type HttpResponse } from './response-recorder';

const PROBLEM = 'application/problem+json; charset=utf-8';

/** Has the JSON that is about to be sent go out as a problem of RFC 9457. */
export function sendAsProblem(response: HttpResponse): void {
  const raw = rawOf(response);
  if (raw.headersSent) return;
  if (response.header !== undefined && raw !== (response as unknown))
    return setHeader(response, 'Content-Type', PROBLEM);
  // Nest 11 on Express takes any other type than application/json off an error, and logs a warning: so this comes after it.
  const writeHead = raw.writeHead.bind(raw) as (...args: unknown[]) => ServerResponse;
  raw.writeHead = (...args: unknown[]) => {
    if (String(raw.getHeader('content-type')).startsWith('application/json')) raw.setHeader('Content-Type', PROBLEM);
    return writeHead(...args);
  };
}
