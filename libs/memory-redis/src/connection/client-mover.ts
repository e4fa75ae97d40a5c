import type { Redis } from 'ioredis';
import type { connectorTo } from './connector';

/** The internal parts of a client of ioredis 5 and 6 that are not in its types. */
interface Parts {
  connector: { disconnect(): void; stream?: { destroy(): void } };
  readonly options: Record<string, unknown>;
  readonly stream: { destroy(): void } | undefined;
  readonly status: string;
}

/**
 * Replaces the connector of a client of ioredis 5 or 6. The client reconnects now. If it has not begun to connect, it uses the new
 * connector when it first connects.
 */
export function moveClient(client: Redis, Connector: ReturnType<typeof connectorTo>): void {
  const parts = client as unknown as Parts;
  const old = parts.connector;
  // The options are changed too, because `client.duplicate()` copies them.
  Object.assign(parts.options, {
    Connector,
    db: 0,
    username: undefined,
    password: undefined,
    // The old connection is closed on purpose, so the client need not pause before it reconnects.
    retryStrategy: () => 1,
  });
  parts.connector = new Connector();
  if (parts.status === 'wait') return;
  // `disconnect()` of the connector sets a timer for the end of its stream. The stream may have ended already, so it is removed before.
  old.stream?.destroy();
  old.stream = undefined;
  old.disconnect();
  parts.stream?.destroy();
}
