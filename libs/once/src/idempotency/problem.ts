import { sendJsonAs } from '../../../internal/src';
import { rawOf, setHeader, type HttpResponse } from './response-recorder';

const PROBLEM = 'application/problem+json';

/** Sets the content type of the next JSON that Nest sends to `application/problem+json` (problem details, RFC 9457). */
export function sendAsProblem(response: HttpResponse): void {
  const raw = rawOf(response);
  if (raw.headersSent) return;
  if (response.header !== undefined && raw !== (response as unknown)) {
    setHeader(response, 'Content-Type', `${PROBLEM}; charset=utf-8`);
  } else sendJsonAs(raw, PROBLEM);
}
