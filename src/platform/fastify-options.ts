import type { FastifyAdapter } from '@nestjs/platform-fastify';
import type { AppConfig } from './config/config';

type FastifyOptions = NonNullable<ConstructorParameters<typeof FastifyAdapter>[0]>;

/** What a request may take to arrive whole, ms: a client that sends a byte now and a byte later holds a socket. */
const REQUEST_MS = 20_000;
const HEADERS_MS = 10_000;
/** How often Node looks for such requests, ms. */
const CHECK_MS = 5_000;
/** Characters of a path's part: an id of 128 characters, each of up to four bytes, and the key of its activity. */
const MOST_PARAM = 4_096;

/** Settings of the HTTP server that the defaults of Fastify leave open. */
export function fastifyOptions(
  { trustProxy }: Pick<AppConfig, 'trustProxy'>,
  [requestMs, headersMs, checkMs] = [REQUEST_MS, HEADERS_MS, CHECK_MS],
): FastifyOptions {
  return {
    bodyLimit: 65_536,
    requestTimeout: requestMs,
    http: { headersTimeout: headersMs, connectionsCheckingInterval: checkMs },
    routerOptions: { maxParamLength: MOST_PARAM },
    ...(trustProxy !== undefined && { trustProxy: [...trustProxy] }),
  } as FastifyOptions;
}
