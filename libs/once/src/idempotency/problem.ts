import type { ServerResponse } from 'node:http';
import { rawOf, setHeader, type HttpResponse } from './response-recorder';

const PROBLEM = 'application/problem+json; charset=utf-8';

/** Sets the content type of the JSON that Nest is about to send to that of problem details (RFC 9457). */
export function sendAsProblem(response: HttpResponse): void {
  const raw = rawOf(response);
  if (raw.headersSent) return;
  if (response.header !== undefined && raw !== (response as unknown))
    return setHeader(response, 'Content-Type', PROBLEM);
  // If the content type were set now, Nest 11 on Express would replace it and log a warning. So it is set in `writeHead`.
  const writeHead = raw.writeHead.bind(raw) as (...args: unknown[]) => ServerResponse;
  raw.writeHead = (...args: unknown[]) => {
    if (String(raw.getHeader('content-type')).startsWith('application/json')) raw.setHeader('Content-Type', PROBLEM);
    return writeHead(...args);
  };
}
