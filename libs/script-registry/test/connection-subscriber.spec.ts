import { openSubscriber } from '../src/connection/ioredis-subscriber';
import { failureOf, FakeClient, turn } from './client-support';

/** A copy of the client, with what ioredis does for sharded channels. */
class FakeSubscriber extends FakeClient {
  /** Channels that ioredis has in its list. */
  channels: string[] = [];
  private readonly waiting: (() => void)[] = [];

  ssubscribe(channel: string): Promise<void> {
    this.calls.push(`ssubscribe ${channel}`);
    this.condition = { subscriber: { channels: (kind: string) => (kind === 'ssubscribe' ? this.channels : []) } };
    return new Promise((resolve) => {
      this.waiting.push(() => {
        this.channels.push(channel);
        resolve();
      });
    });
  }

  sunsubscribe(channel: string): Promise<void> {
    this.calls.push(`sunsubscribe ${channel}`);
    this.channels = this.channels.filter((name) => name !== channel);
    return Promise.resolve();
  }

  /** Confirms the subscriptions that were sent. */
  confirm(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}

class Source extends FakeClient {
  own: FakeSubscriber | undefined;

  override duplicate(options: object): FakeClient {
    const copy = new FakeSubscriber({ ...this.options, ...options });
    copy.failure = this.failure;
    if (this.status !== 'ready') copy.status = this.status;
    this.own = copy;
    return copy;
  }
}

async function open(client = new Source()) {
  const seen: string[] = [];
  const subscriber = await openSubscriber(client.redis, {
    message: (channel) => seen.push(`message ${channel}`),
    lost: (channel) => seen.push(`lost ${channel}`),
    ended: () => seen.push('ended'),
  });
  const own = client.own as FakeSubscriber;
  const subscribe = async (channel: string): Promise<void> => {
    const subscribed = subscriber.subscribe(channel);
    own.confirm();
    await subscribed;
  };
  return { seen, subscriber, own, subscribe };
}

describe('the connection for sharded channels', () => {
  it('is a copy of the client that neither resends nor reconnects, and whose errors do not end the process', async () => {
    const { own, seen } = await open(new Source({ host: 'h' }));
    expect(own.options).toMatchObject({
      host: 'h',
      autoResendUnfulfilledCommands: false,
      autoResubscribe: false,
      enableAutoPipelining: false,
      enableOfflineQueue: false,
      lazyConnect: true,
    });
    expect([own.options.retryStrategy?.(1), own.getMaxListeners(), own.calls]).toEqual([null, 0, ['connect']]);
    own.emit('error', new Error('reset'));
    expect(seen).toEqual([]);
  });

  it('passes on messages of its channels, with the name of the channel', async () => {
    const { own, seen, subscribe } = await open();
    await subscribe('a');
    own.emit('smessage', 'a', 'text');
    expect(seen).toEqual(['message a']);
  });

  it('reports when it has ended, once, and also if that was before it was returned', async () => {
    const { own, seen } = await open();
    own.emit('end');
    own.emit('end');
    expect(seen).toEqual(['ended']);
    const client = new Source();
    client.status = 'end';
    expect((await open(client)).seen).toEqual(['ended']);
  });

  it('fails as not sent if it cannot connect, and leaves no connection', async () => {
    const client = new Source();
    client.failure = new Error('refused');
    expect(await failureOf(open(client))).toMatchObject({
      kind: 'not-sent',
      message: 'No connection could be opened: refused',
    });
    expect(client.own?.calls).toEqual(['connect', 'disconnect']);
  });

  it('is closed by its owner', async () => {
    const { own, subscriber } = await open();
    subscriber.close();
    expect(own.calls).toEqual(['connect', 'disconnect']);
  });
});

describe('a subscription', () => {
  it('ends when its owner unsubscribes, and is not lost then', async () => {
    const { own, seen, subscriber, subscribe } = await open();
    await subscribe('a');
    await subscriber.unsubscribe('a');
    own.emit('moved');
    expect([own.calls.slice(1), seen]).toEqual([['ssubscribe a', 'sunsubscribe a'], []]);
  });

  it.each(['moved', 'error'])('is lost once if the Cluster has ended it, by event %s; others stay', async (event) => {
    const { own, seen, subscribe } = await open();
    await subscribe('a');
    await subscribe('b');
    own.channels = ['b'];
    own.emit(event, new Error('MOVED'));
    own.emit(event, new Error('MOVED'));
    expect(seen).toEqual(['lost a']);
  });

  it('is lost if the Cluster has ended it in the packet that confirmed it', async () => {
    const { own, seen, subscriber } = await open();
    const subscribed = subscriber.subscribe('a');
    own.confirm();
    own.channels = [];
    await subscribed;
    expect(seen).toEqual(['lost a']);
  });

  it.each([false, undefined])('is lost if the connection has no subscriptions any more: %p', async (state) => {
    const { own, seen, subscribe } = await open();
    await subscribe('a');
    own.condition = state === false ? { subscriber: false } : undefined;
    own.emit('moved');
    expect(seen).toEqual(['lost a']);
  });

  it('is refused if its slot has moved before the reply, and then leaves no listener', async () => {
    const { own, seen, subscriber, subscribe } = await open();
    const refused = failureOf(subscriber.subscribe('a'));
    own.emit('moved');
    expect(await refused).toMatchObject({
      kind: 'not-sent',
      message: 'MOVED A slot of this connection has moved, perhaps not that of the channel',
    });
    await subscribe('b');
    await turn();
    expect([own.listenerCount('moved'), seen]).toEqual([1, []]);
  });
});
