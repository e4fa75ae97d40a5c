/**
 * Content Security Policy. The browser loads only files of the console, and images in `data:` URLs. Inline scripts, other origins,
 * frames and forms are forbidden.
 */
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

/**
 * Headers of the page and its files. With them, a browser asks for a file each time, and gets the status 304 if the file has not changed.
 */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  ...COMMON,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cache-Control': 'no-cache',
};

export const API_HEADERS: Readonly<Record<string, string>> = { ...COMMON, 'Cache-Control': 'no-store' };

/**
 * Headers of a stream of server-sent events. `no-transform` and `X-Accel-Buffering` stop compression and proxies from delaying the events.
 */
export const STREAM_HEADERS: Readonly<Record<string, string>> = {
  ...COMMON,
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
};
