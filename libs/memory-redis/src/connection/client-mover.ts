import type { Redis } from 'ioredis';
import type { connectorTo } from './connector';

/** The parts of a client of ioredis 5 and 6 that its types leave out. */
interface Parts {
  connector: { disconnect(): void; stream?: { destroy(): void } };
  readonly options: Record<string, unknown>;
  readonly stream: { destroy(): void } | undefined;
  readonly status: string;
}

/** Makes a client of ioredis 5 or 6 connect by another connector: now, or at its first use if it has not begun to connect. */
export function moveClient(client: Redis, Connector: ReturnType<typeof connectorTo>): void {
  const parts = client as unknown as Parts;
  const old = parts.connector;
  // duplicate() of the client copies the options.
  Object.assign(parts.options, {
    Connector,
    db: 0,
    username: undefined,
    password: undefined,
    // The close of the old connection is not a failure, so it needs no pause.
    retryStrategy: () => 1,
  });
  parts.connector = new Connector();
  if (parts.status === 'wait') return;
  // Without its stream, the connector sets no timer for the end of the stream, which may have ended already.
  old.stream?.destroy();
  old.stream = undefined;
  old.disconnect();
  parts.stream?.destroy();
}
