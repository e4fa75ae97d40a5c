import type { Redis } from 'ioredis';
import { disconnect } from './disconnect';
import { connectOrFail } from './ioredis-node';
import { isKeyEvents, nameInDatabase, nameOfKeyEvents } from './key-events';
import { CommandFailure, type ChannelEvents, type ChannelSubscriber } from './port';

/** Returns the sharded channels that a client is subscribed to. ioredis has them only in a private list. */
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
 * Sends SSUBSCRIBE, and rejects if the node replies that the hash slot has moved. ioredis 5 would leave the promise pending, but emits the
 * event `moved`. The event does not name the channel, so the move of another channel may also reject this subscription.
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
  // Each subscription in flight adds a listener for `moved`. At the eleventh, Node would warn of a memory leak.
  own.setMaxListeners(0);
  const database = databaseOf(client);
  const subscribed = new Set<string>();
  /** Calls `lost` for each channel whose subscription was ended by the Cluster. */
  const reportLost = (): void => {
    const kept = new Set(channelsOf(own));
    for (const channel of [...subscribed].filter((name) => !kept.has(name))) {
      subscribed.delete(channel);
      lost(channel);
    }
  };
  own.on('smessage', (channel: string, text: string) => message(channel, text));
  own.on('message', (channel: string, text: string) => message(nameOfKeyEvents(channel), text));
  // When a hash slot moves to another node, the Cluster ends its subscriptions. ioredis reports this with `moved` (version 6) or `error`
  // (version 5), without naming the channel. It removes the channel from its list first, so `reportLost` compares the lists.
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
      // The node may have confirmed the subscription and ended it at once. Both replies then arrived before the channel was added here.
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
