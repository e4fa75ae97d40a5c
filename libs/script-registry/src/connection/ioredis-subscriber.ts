import type { Redis } from 'ioredis';
import { CommandFailure, type ChannelSubscriber } from './port';

/** Opens a connection for sharded channels with the options of `client`. It does not reconnect. */
export async function openSubscriber(
  client: Redis,
  onMessage: (channel: string) => void,
  onEnd: () => void,
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
  own.on('smessage', (channel: string) => onMessage(channel));
  // A Cluster ends the subscriptions of a slot that moves away. The listener must then subscribe on the new master.
  own.on('sunsubscribe', (channel: string) => onMessage(channel));
  try {
    await own.connect();
  } catch (error) {
    own.disconnect();
    throw new CommandFailure('not-sent', error instanceof Error ? error.message : String(error));
  }
  own.once('end', onEnd);
  if (own.status !== 'ready') onEnd();
  return {
    subscribe: async (channel) => void (await own.ssubscribe(channel)),
    unsubscribe: async (channel) => void (await own.sunsubscribe(channel)),
    close: () => own.disconnect(),
  };
}
