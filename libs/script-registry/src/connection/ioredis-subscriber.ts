import type { Redis } from 'ioredis';
import { disconnect } from './disconnect';
import { connectOrFail } from './ioredis-node';
import { isKeyEvents, nameInDatabase, nameOfKeyEvents } from './key-events';
import { CommandFailure, type ChannelEvents, type ChannelSubscriber } from './port';

/** Returns the sharded channels that the client is subscribed to, from the private list of ioredis. */
function channelsOf(client: Redis): readonly string[] {
  const { condition } = client as unknown as {
    condition?: { readonly subscriber?: false | { channels(kind: 'ssubscribe'): string[] } };
  };
  const subscriber = condition?.subscriber;
  return subscriber ? subscriber.channels('ssubscribe') : [];
}

/** Returns the number of the database that the client uses. */
function databaseOf(client: Redis): number {
  const { condition } = client as unknown as { condition?: { readonly select?: number } };
  return condition?.select ?? client.options.db ?? 0;
}

/**
 * Sends SSUBSCRIBE, and rejects if ioredis emits the event `moved` before the reply. ioredis emits this event if the node replies MOVED
 * to an SSUBSCRIBE of this connection; ioredis 5 leaves the promise of the command pending. ioredis 6 also emits the event if the node
 * ends a subscription. The event does not name a channel. So the command may be rejected because the slot of another channel has moved.
 */
function rejectedByMove(client: Redis, send: () => Promise<unknown>): Promise<unknown> {
  let moved = (): void => undefined;
  const rejected = new Promise<never>((_, reject) => {
    const message = 'MOVED A slot of this connection has moved, perhaps not that of the channel';
    moved = () => reject(new CommandFailure('not-sent', message));
    client.once('moved', moved);
  });
  return Promise.race([send(), rejected]).finally(() => client.off('moved', moved));
}

/** Opens a connection to the server of `client`, for subscriptions to channels. The connection does not reconnect. */
export async function openSubscriber(
  client: Redis,
  { message, lost, ended }: ChannelEvents,
): Promise<ChannelSubscriber> {
  const own = client.duplicate({
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    enableAutoPipelining: false,
    enableOfflineQueue: false,
    lazyConnect: true,
    retryStrategy: () => null,
  });
  // Each subscription in flight adds a listener for `moved`, and Node warns of a memory leak at the eleventh listener.
  own.setMaxListeners(0);
  const database = databaseOf(client);
  const subscribed = new Set<string>();
  /** Calls `lost` for each channel whose subscription the Cluster has ended. */
  const reportLost = (): void => {
    const kept = new Set(channelsOf(own));
    for (const channel of [...subscribed].filter((name) => !kept.has(name))) {
      subscribed.delete(channel);
      lost(channel);
    }
  };
  own.on('smessage', (channel: string, text: string) => message(channel, text));
  own.on('message', (channel: string, text: string) => message(nameOfKeyEvents(channel), text));
  // A Cluster ends the subscriptions of a slot that moves away. No event of ioredis names the channel: version 6 emits `moved`, version 5
  // emits `error`. Both first remove the channel from their list of subscriptions, so `reportLost` compares the lists.
  own.on('moved', reportLost);
  own.on('error', reportLost);
  await connectOrFail(own);
  own.once('end', ended);
  if (own.status !== 'ready') ended();
  return {
    async subscribe(channel) {
      if (isKeyEvents(channel)) return void (await own.subscribe(nameInDatabase(channel, database)));
      await rejectedByMove(own, () => own.ssubscribe(channel));
      subscribed.add(channel);
      // The node may have confirmed and ended the subscription in one packet, before the channel was added here.
      reportLost();
    },
    async unsubscribe(channel) {
      if (isKeyEvents(channel)) return void (await own.unsubscribe(nameInDatabase(channel, database)));
      subscribed.delete(channel);
      await own.sunsubscribe(channel);
    },
    ping: () => own.ping(),
    close: () => disconnect(own),
  };
}
