/** Nothing but the console's own files: no inline scripts, no other origin, no frames, no forms. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

const COMMON = {
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** Headers of the page and its files. Browsers ask for each file again, and get 304 if it is the same. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  ...COMMON,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cache-Control': 'no-cache',
};

/** Headers of the API. */
export const API_HEADERS: Readonly<Record<string, string>> = { ...COMMON, 'Cache-Control': 'no-store' };

/** Headers of server-sent events. `no-transform` keeps compression and proxies from holding events back. */
export const STREAM_HEADERS: Readonly<Record<string, string>> = {
  ...COMMON,
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
};
