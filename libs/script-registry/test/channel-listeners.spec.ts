import { ChannelListeners } from '../src/channel-listeners';
import { keyEventsOf } from '../src/connection/key-events';
import { type ChannelEvents, CommandFailure, type RedisConnection, type RedisNode } from '../src/connection/port';

const CHECK_MS = 5_000;

/** A server whose connections for channels and whose clock the test controls. */
class TestServer {
  /** Connections for channels that were opened, the oldest first. */
  readonly links: { readonly on: ChannelEvents; readonly subscribed: string[]; closed: boolean }[] = [];
  pings = 0;
  times = 0;
  /** The server's replies to PING, and to TIME. */
  ping: () => Promise<unknown> = () => Promise.resolve('PONG');
  time: () => Promise<unknown> = () => Promise.resolve(this.clock());
  /** The server's clock minus that of this process, ms. */
  aheadMs = 0;
  readonly node: RedisNode & { ready: boolean };

  constructor() {
    const send = (name: string): Promise<unknown> => {
      if (name !== 'TIME') throw new Error(`unexpected ${name}`);
      this.times += 1;
      return this.time();
    };
    this.node = { id: 'a:1', role: 'master', ready: true, send } as unknown as TestServer['node'];
  }

  get connection(): RedisConnection {
    return {
      nodeFor: () => this.node,
      refresh: () => undefined,
      subscriber: (_node: RedisNode, on: ChannelEvents) => {
        const link = { on, subscribed: [] as string[], closed: false };
        this.links.push(link);
        return Promise.resolve({
          subscribe: (channel: string) => Promise.resolve(void link.subscribed.push(channel)),
          unsubscribe: () => Promise.resolve(),
          ping: () => ((this.pings += 1), this.ping()),
          close: () => void (link.closed = true),
        });
      },
    } as unknown as RedisConnection;
  }

  private clock(): [Buffer, Buffer] {
    const ms = 1_700_000_000_000 + performance.now() + this.aheadMs;
    const text = (value: number): Buffer => Buffer.from(String(Math.floor(value)));
    return [text(ms / 1_000), text((ms % 1_000) * 1_000)];
  }
}

describe('the checks of the connections for channels', () => {
  let server: TestServer;
  let listeners: ChannelListeners;
  let calls: string[];
  beforeEach(async () => {
    jest.useFakeTimers();
    [server, calls] = [new TestServer(), []];
    listeners = new ChannelListeners(server.connection);
    await listen('x');
    await listen('y');
  });
  afterEach(() => {
    listeners.close();
    jest.useRealTimers();
  });

  const listen = (channel: string) => listeners.listen(1, channel, () => void calls.push(channel));
  const checks = (count: number): Promise<void> => jest.advanceTimersByTimeAsync(count * CHECK_MS);
  const never = (): Promise<never> => new Promise(() => undefined);

  it('send one PING and one TIME each five seconds for all channels of a node', async () => {
    await checks(12);
    expect([server.pings, server.times, server.links.length]).toEqual([12, 12, 1]);
    expect(calls).toEqual([]);
  });

  it('give up a connection that does not reply for two checks, and call each listener once', async () => {
    server.ping = never;
    await checks(2);
    expect([calls, server.links[0]?.closed]).toEqual([[], false]);
    await checks(1);
    expect([calls, server.links[0]?.closed]).toEqual([['x', 'y'], true]);
    await checks(5);
    expect(calls).toEqual(['x', 'y']);
    server.ping = () => Promise.resolve('PONG');
    await listen('x');
    expect(server.links).toHaveLength(2);
    await checks(5);
    expect([calls, server.links[1]?.closed]).toEqual([['x', 'y'], false]);
  });

  it('keep a connection that is late once, as when this process stands still', async () => {
    let replies: (() => void)[] = [];
    server.ping = () => new Promise<void>((resolve) => replies.push(resolve));
    for (let i = 0; i < 5; i++) {
      await checks(2);
      for (const reply of replies) reply();
      replies = [];
      await jest.advanceTimersByTimeAsync(0);
    }
    expect([calls, server.links.length, server.links[0]?.closed]).toEqual([[], 1, false]);
  });

  it('take an error for a reply', async () => {
    server.ping = () => Promise.reject(new CommandFailure('reply', 'NOPERM'));
    await checks(10);
    expect([calls, server.links.length]).toEqual([[], 1]);
  });

  it('call the listeners, and keep the connection, when the clock of the node was set forward', async () => {
    await checks(2);
    server.aheadMs = 3_600_000;
    await checks(1);
    expect(calls).toEqual(['x', 'y']);
    await checks(5);
    expect([calls, server.links.length]).toEqual([['x', 'y'], 1]);
  });

  it('do not call them when the clock was set back; a step forward after that counts from there', async () => {
    await checks(1);
    server.aheadMs = -60_000;
    await checks(2);
    expect(calls).toEqual([]);
    server.aheadMs = -30_000;
    await checks(1);
    expect(calls).toEqual(['x', 'y']);
  });

  it('see a clock that runs fast in many small steps', async () => {
    await checks(1);
    for (let i = 0; i < 3; i++) {
      server.aheadMs += 100;
      await checks(1);
    }
    expect(calls).toEqual(['x', 'y']);
  });

  it('do not ask for the time again if this user may not, and ask again after another failure', async () => {
    server.time = () => Promise.reject(new CommandFailure('lost', 'reset'));
    await checks(3);
    expect(server.times).toBe(3);
    server.time = () => Promise.reject(new CommandFailure('reply', 'NOPERM no'));
    await checks(3);
    expect(server.times).toBe(4);
    expect(calls).toEqual([]);
  });

  it('ask a node that is not ready for nothing but the PING', async () => {
    server.node.ready = false;
    await checks(3);
    expect([server.pings, server.times]).toEqual([3, 0]);
  });

  it('a channel that the Cluster has ended takes others with it only if there are events of keys', async () => {
    server.links[0]?.on.lost('x');
    expect([calls, server.links[0]?.closed]).toEqual([['x'], false]);
    await listen('x');
    await listen(keyEventsOf('k'));
    server.links[0]?.on.lost('x');
    await checks(0);
    expect(calls.slice(1).sort()).toEqual(['x', 'y', keyEventsOf('k')].sort());
    expect(server.links[0]?.closed).toBe(true);
  });

  it('end with close', async () => {
    listeners.close();
    await checks(3);
    expect([server.pings, server.times, server.links[0]?.closed]).toEqual([0, 0, true]);
  });

  it('the listeners are called once when the client has connected to the node again', () => {
    listeners.reconnected(server.node);
    expect(calls).toEqual(['x', 'y']);
    listeners.reconnected(server.node);
    expect(calls).toEqual(['x', 'y']);
  });
});
