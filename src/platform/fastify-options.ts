import type { FastifyAdapter } from '@nestjs/platform-fastify';
import type { AppConfig } from './config/config';

type FastifyOptions = NonNullable<ConstructorParameters<typeof FastifyAdapter>[0]>;

/** Time in which a whole request must arrive, ms. Without it, a client that sends very slowly holds a socket. */
const REQUEST_MS = 20_000;
/** Time in which the headers of a request must arrive, ms. */
const HEADERS_MS = 10_000;
/** Interval at which Node looks for requests that take too long, ms. */
const CHECK_MS = 5_000;
/** Most characters of a path parameter. The longest is an activity key: an id of 128 characters, percent-encoded twice. */
const MOST_PARAM = 4_096;

/**
 * Returns the settings of the HTTP server that differ from Fastify's defaults.
 *
 * @param times longest time of a request, longest time of its headers, and interval of the checks, ms; tests set shorter ones
 */
export function fastifyOptions(
  { trustProxy }: Pick<AppConfig, 'trustProxy'>,
  times = [REQUEST_MS, HEADERS_MS, CHECK_MS],
): FastifyOptions {
  const [requestMs, headersMs, checkMs] = times;
  return {
    bodyLimit: 65_536,
    requestTimeout: requestMs,
    http: { headersTimeout: headersMs, connectionsCheckingInterval: checkMs },
    routerOptions: { maxParamLength: MOST_PARAM },
    ...(trustProxy !== undefined && { trustProxy: [...trustProxy] }),
  } as FastifyOptions;
}
