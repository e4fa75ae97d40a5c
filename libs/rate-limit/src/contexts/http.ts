import type { ExecutionContext } from '@nestjs/common';
import { RateLimitException } from '../rate-limit.exception';
import type { RateLimitContextAdapter } from './context-adapter';
import type { ProxiedRequest } from './proxy-warnings';

/** Fields of a request that are used, on Express and Fastify. */
export interface RequestLike extends ProxiedRequest {
  readonly socket?: { readonly remoteAddress?: string };
  readonly res?: ResponseLike;
}

/** Methods of a response that are used: Express has `setHeader`, Fastify's reply has `header`. */
interface ResponseLike {
  setHeader?(name: string, value: string): unknown;
  getHeader?(name: string): unknown;
  writeHead?: (this: unknown, ...args: unknown[]) => unknown;
  header?(name: string, value: string): unknown;
  readonly headersSent?: boolean;
  readonly sent?: boolean;
  /** Node's response of Fastify's reply. */
  readonly raw?: NodeResponse;
}

/** Node's response. */
interface NodeResponse {
  readonly statusCode?: number;
  once?(event: 'finish', listener: () => void): unknown;
}

/** Request and response of a context, if it has them. */
export interface Exchange {
  readonly request: RequestLike | undefined;
  readonly response: ResponseLike | undefined;
}

/**
 * Names in lower case, for Fastify: it converts other names at every call, which costs more than setting the header.
 */
const IN_LOWER_CASE: Readonly<Record<string, string | undefined>> = {
  'X-RateLimit-Limit': 'x-ratelimit-limit',
  'X-RateLimit-Remaining': 'x-ratelimit-remaining',
  'X-RateLimit-Reset': 'x-ratelimit-reset',
  'RateLimit-Policy': 'ratelimit-policy',
  RateLimit: 'ratelimit',
};

/**
 * Sets the content type of a JSON body when the headers are written. Nest 11 and early versions of 12 replace a type that was
 * set before, and log a warning for each response.
 */
function typeJsonAs(response: ResponseLike, type: string): void {
  const { writeHead } = response;
  response.writeHead = (...args) => {
    response.writeHead = writeHead;
    if (String(response.getHeader?.('Content-Type')).startsWith('application/json')) {
      response.setHeader?.('Content-Type', `${type}; charset=utf-8`);
    }
    return writeHead?.apply(response, args);
  };
}

/** Makes an adapter for contexts that belong to an HTTP request. */
export function exchangeAdapter(
  exchangeOf: (context: ExecutionContext) => Exchange,
  callOf: (context: ExecutionContext) => object | undefined,
): RateLimitContextAdapter {
  return {
    address(context) {
      const { request } = exchangeOf(context);
      return typeof request?.ip === 'string' && request.ip !== '' ? request.ip : request?.socket?.remoteAddress;
    },
    setHeaders(context, headers) {
      const { response } = exchangeOf(context);
      if (response === undefined || response.headersSent === true || response.sent === true) return;
      for (const name in headers) {
        const value = headers[name] as string;
        if (name === 'Content-Type' && response.writeHead) typeJsonAs(response, value);
        else if (response.setHeader) response.setHeader(name, value);
        else response.header?.(IN_LOWER_CASE[name] ?? name, value);
      }
    },
    refusal: (_context, { decision, status, body }) => new RateLimitException(decision, status, body),
    call: callOf,
  };
}

/** Adapter of HTTP routes on Express and Fastify. */
export const httpAdapter: RateLimitContextAdapter = {
  ...exchangeAdapter(
    (context) => ({
      request: context.getArgByIndex<RequestLike | undefined>(0),
      response: context.getArgByIndex<ResponseLike | undefined>(1),
    }),
    (context) => context.getArgByIndex<object | undefined>(0),
  ),
  // See DECISIONS.md: outcome-is-the-status-at-finish
  onSent(context, sent) {
    const response = context.getArgByIndex<(ResponseLike & NodeResponse) | undefined>(1);
    const node = response?.raw ?? response;
    // Any response counts: of the handler, another guard, an interceptor or a filter.
    node?.once?.('finish', () => sent((node.statusCode ?? 200) >= 400));
  },
};
