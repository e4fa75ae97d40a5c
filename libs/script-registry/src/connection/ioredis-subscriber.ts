import type { Redis } from 'ioredis';
import { CommandFailure, type ChannelSubscriber } from './port';

/** Opens a connection like `client`'s for sharded channels; it ends for good when it closes. */
export async function openSubscriber(
  client: Redis,
  heard: (channel: string) => void,
  ended: () => void,
): Promise<ChannelSubscriber> {
  const own = client.duplicate({
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    enableAutoPipelining: false,
    enableOfflineQueue: false,
    lazyConnect: true,
    retryStrategy: () => null,
  });
  own.on('error', () => undefined);
  own.on('smessage', (channel: string) => heard(channel));
  // A Cluster ends the subscriptions of a slot that moves away; whoever listens must find its new master.
  own.on('sunsubscribe', (channel: string) => heard(channel));
  try {
    await own.connect();
  } catch (error) {
    own.disconnect();
    throw new CommandFailure('not-sent', error instanceof Error ? error.message : String(error));
  }
  own.once('end', ended);
  if (own.status !== 'ready') ended();
  return {
    subscribe: async (channel) => void (await own.ssubscribe(channel)),
    unsubscribe: async (channel) => void (await own.sunsubscribe(channel)),
    close: () => own.disconnect(),
  };
}
