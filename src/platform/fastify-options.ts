import { type IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import type { AppConfig } from './config/config';

type FastifyOptions = NonNullable<ConstructorParameters<typeof FastifyAdapter>[0]>;

/** Response whose type browsers do not guess. A hook of Fastify would miss errors and server-sent events. */
class NoSniffResponse extends ServerResponse {
  constructor(request: IncomingMessage) {
    super(request);
    this.setHeader('x-content-type-options', 'nosniff');
  }
}

/** Time in which a whole request must arrive, ms. Without it, a client that sends very slowly holds a socket. */
const REQUEST_MS = 20_000;
/** Time in which the headers of a request must arrive, ms. */
const HEADERS_MS = 10_000;
/** Interval at which Node looks for requests that take too long, ms. */
const CHECK_MS = 5_000;
/** Maximum number of characters of a path parameter. The longest is an activity key: an id of 128 characters, percent-encoded twice. */
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
    http: { headersTimeout: headersMs, connectionsCheckingInterval: checkMs, ServerResponse: NoSniffResponse },
    routerOptions: { maxParamLength: MOST_PARAM },
    ...(trustProxy !== undefined && { trustProxy: [...trustProxy] }),
  } as FastifyOptions;
}
