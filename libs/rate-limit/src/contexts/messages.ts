import type { ExecutionContext } from '@nestjs/common';
import { rpcException } from '../../../internal/src';
import type { RateLimitContextAdapter } from './context-adapter';

type ExceptionClass = new (error: object) => Error;

let loaded: ExceptionClass | undefined;

function loadWsException(): ExceptionClass {
  // Of an optional peer: an import would demand it of everybody, and so would a bundler for a require outside of `try`.
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports
    return (require('@nestjs/websockets') as { WsException: ExceptionClass }).WsException;
  } catch (cause) {
    throw new Error('@nestjs/websockets cannot be loaded, and is needed to refuse a message.', { cause });
  }
}

/** The object among the arguments that belongs to one message: the payload, or what stands beside it. */
function objectAt(context: ExecutionContext, ...places: readonly number[]): object | undefined {
  for (const place of places) {
    const value: unknown = context.getArgByIndex(place);
    if (typeof value === 'object' && value !== null) return value;
  }
  return undefined;
}

interface Socket {
  readonly remoteAddress?: string;
}

/** Clients of socket.io and of ws. */
interface ClientLike {
  readonly handshake?: { readonly address?: string };
  readonly _socket?: Socket;
}

/** WebSocket gateways. A client outlives its messages, so it is taken for the call only where nothing else can be. */
export const wsAdapter: RateLimitContextAdapter = {
  address(context) {
    const client = context.getArgByIndex<ClientLike | undefined>(0);
    return client?.handshake?.address ?? client?._socket?.remoteAddress;
  },
  refusal: (_context, { body }) => new (loaded ??= loadWsException())(body),
  call: (context) => objectAt(context, 1, 0),
};

/** The TCP transport's context; others know no address. */
interface RpcContextLike {
  getSocketRef?(): { readonly netSocket?: Socket; readonly socket?: Socket };
}

/** Message and event patterns of microservices. */
export const rpcAdapter: RateLimitContextAdapter = {
  address(context) {
    const socket = context.getArgByIndex<RpcContextLike | undefined>(1)?.getSocketRef?.();
    return (socket?.netSocket ?? socket?.socket)?.remoteAddress;
  },
  refusal: (_context, { body }) => rpcException(body),
  call: (context) => objectAt(context, 1, 0),
};
