import type { FastifyAdapter } from '@nestjs/platform-fastify';
import type { AppConfig } from './config/config';

type FastifyOptions = NonNullable<ConstructorParameters<typeof FastifyAdapter>[0]>;

/** Time in which a whole request must arrive, ms. A client that sends very slowly would hold a socket. */
const REQUEST_MS = 20_000;
const HEADERS_MS = 10_000;
/** Interval at which Node looks for requests that take too long, ms. */
const CHECK_MS = 5_000;
/** Most characters of a path parameter. An id has up to 128 characters, and each may be four encoded bytes (%XX). */
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
