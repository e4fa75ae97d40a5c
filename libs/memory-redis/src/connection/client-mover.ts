import type { Redis } from 'ioredis';
import type { connectorTo } from './connector';

interface Parts {
  connector: { disconnect(): void; stream?: { destroy(): void } };
  readonly options: Record<string, unknown>;
  readonly stream: { destroy(): void } | undefined;
  readonly status: string;
}

/**
 * Makes a client of ioredis 5 or 6 connect with another connector. A connected client reconnects now; any other client uses the new
 * connector when it first connects.
 */
export function moveClient(client: Redis, Connector: ReturnType<typeof connectorTo>): void {
  const parts = client as unknown as Parts;
  const old = parts.connector;
  // `client.duplicate()` copies the options, so they must be changed, too.
  Object.assign(parts.options, {
    Connector,
    db: 0,
    username: undefined,
    password: undefined,
    // The connection was closed on purpose, so the client need not pause before it reconnects.
    retryStrategy: () => 1,
  });
  parts.connector = new Connector();
  if (parts.status === 'wait') return;
  // The old connector would wait with a timer for the end of its stream, which may have ended already. So the stream is removed first.
  old.stream?.destroy();
  old.stream = undefined;
  old.disconnect();
  parts.stream?.destroy();
}
