import type { ExecutionContext } from '@nestjs/common';
import { sendJsonAs } from '../../../internal/src';
import { RateLimitException } from '../rate-limit.exception';
import type { RateLimitContextAdapter } from './context-adapter';
import type { ProxiedRequest } from './proxy-warnings';

/** Properties of a request on Express and Fastify that the guard uses. */
export interface RequestLike extends ProxiedRequest {
  readonly socket?: { readonly remoteAddress?: string };
  readonly res?: ResponseLike;
}

/** Properties of a response that the guard uses. Express' response has `setHeader`, Fastify's reply has `header`. */
interface ResponseLike {
  setHeader?(name: string, value: string): unknown;
  getHeader?(name: string): unknown;
  writeHead?: (...args: never[]) => unknown;
  header?(name: string, value: string): unknown;
  readonly headersSent?: boolean;
  readonly sent?: boolean;
  /** Node's response, in Fastify's reply; undefined on Express. */
  readonly raw?: NodeResponse;
}

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
 * Makes an adapter for contexts that belong to an HTTP request.
 *
 * @param exchangeOf returns the request and the response of a context
 * @param callOf the method `call` of the adapter
 */
export function exchangeAdapter(
  exchangeOf: (context: ExecutionContext) => Exchange,
  callOf: (context: ExecutionContext) => object | undefined,
): RateLimitContextAdapter {
  return {
    address(context) {
      const { request } = exchangeOf(context);
      // The platforms compute `ip` at each access.
      const ip = request?.ip;
      return typeof ip === 'string' && ip !== '' ? ip : request?.socket?.remoteAddress;
    },
    setHeaders(context, headers) {
      const { response } = exchangeOf(context);
      if (response === undefined || response.headersSent === true || response.sent === true) return;
      for (const name in headers) {
        const value = headers[name] as string;
        if (name === 'Content-Type' && response.writeHead) sendJsonAs(response, value);
        else if (response.setHeader) response.setHeader(name, value);
        else response.header?.(name, value);
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
  // The outcome is the status of the response that was sent. See DECISIONS.md: outcome-is-the-status-at-finish
  onSent(context, sent) {
    const response = context.getArgByIndex<(ResponseLike & NodeResponse) | undefined>(1);
    const node = response?.raw ?? response;
    node?.once?.('finish', () => sent((node.statusCode ?? 200) >= 400));
  },
};
