import type { ExecutionContext } from '@nestjs/common';
import { rpcException } from '../../../internal/src';
import type { RateLimitContextAdapter } from './context-adapter';

type ExceptionClass = new (error: object) => Error;

function loadWsException(): ExceptionClass {
  // An app need not install @nestjs/websockets. A static import would make it mandatory, and for a bundler, so would a `require` outside of
  // `try`.
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports
    return (require('@nestjs/websockets') as { WsException: ExceptionClass }).WsException;
  } catch (cause) {
    throw new Error(
      'RateLimitGuard: Cannot load @nestjs/websockets, which is needed to refuse a WebSocket message. Install it if it is missing.',
      { cause },
    );
  }
}

/** Returns the first object among the arguments at these indexes; undefined if none of the arguments is an object. */
function objectAt(context: ExecutionContext, ...indexes: readonly number[]): object | undefined {
  for (const index of indexes) {
    const value: unknown = context.getArgByIndex(index);
    if (typeof value === 'object' && value !== null) return value;
  }
  return undefined;
}

interface Socket {
  readonly remoteAddress?: string;
}

/** Client of a WebSocket gateway: socket.io has `handshake`, ws has `_socket`. */
interface ClientLike {
  readonly handshake?: { readonly address?: string };
  readonly _socket?: Socket;
}

/**
 * Adapter for WebSocket gateways. `call` returns the payload of the message, or the client if the payload is not an object. All messages of
 * a client share the client object.
 */
export const wsAdapter: RateLimitContextAdapter = {
  address(context) {
    const client = context.getArgByIndex<ClientLike | undefined>(0);
    return client?.handshake?.address ?? client?._socket?.remoteAddress;
  },
  refusal: (_context, { body }) => new (loadWsException())(body),
  call: (context) => objectAt(context, 1, 0),
};

/** Context of Nest's TCP transport, which has the socket. Other transports show no address. */
interface RpcContextLike {
  getSocketRef?(): { readonly netSocket?: Socket; readonly socket?: Socket };
}

/** Adapter for message and event patterns of microservices. */
export const rpcAdapter: RateLimitContextAdapter = {
  address(context) {
    const socket = context.getArgByIndex<RpcContextLike | undefined>(1)?.getSocketRef?.();
    return (socket?.netSocket ?? socket?.socket)?.remoteAddress;
  },
  refusal: (_context, { body }) => rpcException(body),
  call: (context) => objectAt(context, 1, 0),
};
