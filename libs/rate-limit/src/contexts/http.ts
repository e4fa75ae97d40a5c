import type { ExecutionContext } from '@nestjs/common';
import { RateLimitException } from '../rate-limit.exception';
import type { RateLimitContextAdapter } from './context-adapter';
import type { ProxiedRequest } from './proxy-warnings';

/** What is read of a request, on whatever platform. */
export interface RequestLike extends ProxiedRequest {
  readonly socket?: { readonly remoteAddress?: string };
  readonly res?: ResponseLike;
}

/** What is done to a response: Express has `setHeader`, Fastify's reply `header`. */
interface ResponseLike {
  setHeader?(name: string, value: string): unknown;
  getHeader?(name: string): unknown;
  writeHead?: (this: unknown, ...args: unknown[]) => unknown;
  header?(name: string, value: string): unknown;
  readonly headersSent?: boolean;
  readonly sent?: boolean;
  /** Node's response, behind Fastify's reply. */
  readonly raw?: NodeResponse;
}

/** Node's response. */
interface NodeResponse {
  readonly statusCode?: number;
  once?(event: 'finish', listener: () => void): unknown;
}

/** A request and its response, where there are such. */
export interface Exchange {
  readonly request: RequestLike | undefined;
  readonly response: ResponseLike | undefined;
}

/**
 * Fastify makes names lower case before it keeps them as properties; a new text for each header of each answer costs it
 * more than all the rest of setting one.
 */
const IN_LOWER_CASE: Readonly<Record<string, string | undefined>> = {
  'X-RateLimit-Limit': 'x-ratelimit-limit',
  'X-RateLimit-Remaining': 'x-ratelimit-remaining',
  'X-RateLimit-Reset': 'x-ratelimit-reset',
  'RateLimit-Policy': 'ratelimit-policy',
  RateLimit: 'ratelimit',
};

/**
 * Gives a JSON body another type at the last moment. Nest 11 and early 12 replace, with a warning for each response, what
 * an error's body has for a type before it is sent.
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

/** Builds an adapter for contexts that have an HTTP request behind them. */
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

/** Express and Fastify. */
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
    // Whoever answered: the handler, another guard, an interceptor or a filter.
    node?.once?.('finish', () => sent((node.statusCode ?? 200) >= 400));
  },
};
