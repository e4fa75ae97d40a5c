import type { ExecutionContext } from '@nestjs/common';
import { rpcException } from '../../../internal/src';
import type { RateLimitContextAdapter } from './context-adapter';

type ExceptionClass = new (error: object) => Error;

let loaded: ExceptionClass | undefined;

function loadWsException(): ExceptionClass {
  // An optional peer dependency. An import would make all apps need it, and so would a `require` outside of `try` in a bundle.
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports
    return (require('@nestjs/websockets') as { WsException: ExceptionClass }).WsException;
  } catch (cause) {
    throw new Error('RateLimitGuard: Cannot load @nestjs/websockets, which it needs to refuse a message.', { cause });
  }
}

/** Returns the first argument that is an object, at the given indexes. */
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

/** Client of socket.io or ws. */
interface ClientLike {
  readonly handshake?: { readonly address?: string };
  readonly _socket?: Socket;
}

/**
 * Adapter of WebSocket gateways. The object of a call is the payload, or the client if the payload is not an object: the
 * client is the same for all of its messages.
 */
export const wsAdapter: RateLimitContextAdapter = {
  address(context) {
    const client = context.getArgByIndex<ClientLike | undefined>(0);
    return client?.handshake?.address ?? client?._socket?.remoteAddress;
  },
  refusal: (_context, { body }) => new (loaded ??= loadWsException())(body),
  call: (context) => objectAt(context, 1, 0),
};

/** Context of the TCP transport; other transports have no address. */
interface RpcContextLike {
  getSocketRef?(): { readonly netSocket?: Socket; readonly socket?: Socket };
}

/** Adapter of message and event patterns of microservices. */
export const rpcAdapter: RateLimitContextAdapter = {
  address(context) {
    const socket = context.getArgByIndex<RpcContextLike | undefined>(1)?.getSocketRef?.();
    return (socket?.netSocket ?? socket?.socket)?.remoteAddress;
  },
  refusal: (_context, { body }) => rpcException(body),
  call: (context) => objectAt(context, 1, 0),
};
