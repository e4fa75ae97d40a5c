import { Redis } from 'ioredis';
import { connectClient } from '../src/connection/connect';
import { connectIoredis } from '../src/connection/ioredis-connection';
import { freePort } from '../../../test/support/free-port';
import { openDedicated } from '../src/connection/ioredis-node';
import { openSubscriber } from '../src/connection/ioredis-subscriber';
import { failureOf, FakeClient, FakeCluster, replyError, turn } from './client-support';

describe('a dedicated connection', () => {
  it('is a copy of the client that resends nothing and does not reconnect', async () => {
    const client = new FakeClient({ db: 2, host: 'h' });
    await openDedicated(client.redis, () => undefined);
    const [own] = client.duplicates;
    expect(own?.options).toMatchObject({
      host: 'h',
      db: 2,
      autoResendUnfulfilledCommands: false,
      enableAutoPipelining: false,
      lazyConnect: true,
    });
    expect(own?.options.retryStrategy?.(1)).toBeNull();
    expect(own?.calls).toEqual(['connect']);
    // Without a listener an error would end the process.
    own?.emit('error', new Error('reset'));
  });

  it('uses the database that the client has selected', async () => {
    const client = new FakeClient({ db: 2 });
    client.condition = { select: 5 };
    await openDedicated(client.redis, () => undefined);
    expect(client.duplicates[0]?.options.db).toBe(5);
  });

  it('returns the reply or the failure of each command, and reports when it has ended', async () => {
    const client = new FakeClient();
    const closed = jest.fn();
    const connection = await openDedicated(client.redis, closed);
    const own = client.duplicates[0] as FakeClient;
    const replies = connection.sendAll([['GET', ['a']], ['GET', ['b']]]); // prettier-ignore
    own.commands[0]?.resolve(Buffer.from('1'));
    own.commands[1]?.reject(replyError('ERR x'));
    expect(await replies).toEqual([Buffer.from('1'), expect.objectContaining({ kind: 'reply', message: 'ERR x' })]);
    expect(closed).not.toHaveBeenCalled();
    own.emit('end');
    own.emit('end');
    expect(closed).toHaveBeenCalledTimes(1);
    connection.close();
    expect(own.calls).toEqual(['connect', 'disconnect']);
  });

  it('fails as not sent if it cannot connect, and leaves no connection', async () => {
    const client = new FakeClient();
    client.failure = new Error('refused');
    const failure = await failureOf(openDedicated(client.redis, () => undefined));
    expect(failure).toMatchObject({ kind: 'not-sent', message: 'No connection could be opened: refused' });
    expect(client.duplicates[0]?.calls).toEqual(['connect', 'disconnect']);
  });
});

it('a connection of its own that cannot be opened: the failure has the cause, not that it is closed', async () => {
  const client = new Redis(await freePort(), { lazyConnect: true });
  const message = expect.stringMatching(/^No connection could be opened: connect ECONNREFUSED /) as string;
  expect(await failureOf(openDedicated(client, () => undefined))).toMatchObject({ kind: 'not-sent', message });
  const events = { message: () => undefined, lost: () => undefined, ended: () => undefined };
  expect(await failureOf(openSubscriber(client, events))).toMatchObject({ kind: 'not-sent', message });
});

describe('the connection of a client of one server', () => {
  it('has one node, which gets the commands of all slots', async () => {
    const client = new FakeClient({ host: 'h', port: 1 });
    const connection = connectIoredis(client.redis);
    const [node] = connection.nodes();
    expect(connection.nodes()).toHaveLength(1);
    expect(node).toMatchObject({ id: 'h:1', role: 'master', ready: true });
    expect([connection.nodeFor(7), connection.lostMasters(), connection.clustered]).toEqual([node, [], false]);
    const answer = connection.sendRouted('GET', ['k']);
    client.last.resolve(1);
    await expect(answer).resolves.toBe(1);
  });

  it('refuses a client that returns numbers as text', () => {
    const client = new FakeClient({ stringNumbers: true });
    expect(() => connectIoredis(client.redis)).toThrow(/^ScriptRegistryModule: client has stringNumbers: true/);
    expect(client.eventNames()).toEqual([]);
  });

  it('connects a lazy client when somebody listens, and when it is refreshed', () => {
    const client = new FakeClient();
    client.status = 'wait';
    const connection = connectIoredis(client.redis);
    const seen: unknown[] = [];
    const stop = connection.listen((event, node) => seen.push([event, node]));
    expect(client.calls).toEqual(['connect']);
    connection.refresh();
    expect(client.calls).toEqual(['connect', 'connect']);
    client.emit('ready');
    client.emit('close');
    expect(seen).toEqual([['ready', connection.nodes()[0]], ['down', connection.nodes()[0]]]); // prettier-ignore
    stop();
    client.emit('ready');
    expect([seen.length, client.eventNames()]).toEqual([2, []]);
  });

  it('opens one dedicated connection, and a new one when that has ended', async () => {
    const client = new FakeClient();
    const connection = connectIoredis(client.redis);
    const node = connection.nodes()[0] as never;
    const [first, second] = await Promise.all([connection.dedicated(node), connection.dedicated(node)]);
    expect([client.duplicates.length, second]).toEqual([1, first]);
    client.duplicates[0]?.emit('end');
    await connection.dedicated(node);
    await connection.dedicated(node);
    expect(client.duplicates).toHaveLength(2);
    connection.close();
    await turn();
    expect(client.duplicates.map(({ calls }) => calls)).toEqual([['connect'], ['connect', 'disconnect']]);
    expect(client.eventNames()).toEqual([]);
  });

  it('opens a new dedicated connection after one that could not connect', async () => {
    const client = new FakeClient();
    const connection = connectIoredis(client.redis);
    client.failure = new Error('refused');
    const node = connection.nodes()[0] as never;
    expect(await failureOf(connection.dedicated(node))).toMatchObject({ kind: 'not-sent' });
    client.failure = undefined;
    await expect(connection.dedicated(node)).resolves.toBeDefined();
    client.failure = new Error('refused');
    connection.close();
    connectIoredis(client.redis).close();
  });

  it('keeps a newer dedicated connection when an older one ends late', async () => {
    const client = new FakeClient();
    const connection = connectIoredis(client.redis);
    const node = connection.nodes()[0] as never;
    client.failure = new Error('refused');
    await failureOf(connection.dedicated(node));
    client.failure = undefined;
    const newer = await connection.dedicated(node);
    client.duplicates[0]?.emit('end');
    expect(await connection.dedicated(node)).toBe(newer);
  });
});

describe('a client', () => {
  const REFUSED = 'ScriptRegistryModule: client is ';

  it.each([
    ['undefined', undefined],
    ['an object without methods', {}],
    ['a client of node-redis, which has no status', { sendCommand: () => undefined }],
    ['something with a status only', { status: 'ready' }],
  ])('of ioredis is expected: %s is refused', (_, client) => {
    expect(() => connectClient(client as never)).toThrow(REFUSED);
    expect(() => connectClient(client as never)).toThrow('Expected a Redis or a Cluster of ioredis or iovalkey');
  });

  it('with a prefix of its own for keys is refused', () => {
    const refusal =
      'ScriptRegistryModule: client has keyPrefix "app:", which luanest does not support. Remove keyPrefix from the client, and set `prefix` of ScriptRegistryModule instead.';
    const keyPrefix = 'app:';
    expect(() => connectIoredis(new FakeClient({ keyPrefix }).redis)).toThrow(refusal);
    expect(() => connectIoredis(new FakeCluster({ keyPrefix }).cluster)).toThrow(refusal);
    expect(() => connectIoredis(new FakeCluster({ redisOptions: { keyPrefix } }).cluster)).toThrow(refusal);
    expect(connectIoredis(new FakeCluster({ redisOptions: {} }).cluster).clustered).toBe(true);
    expect(connectIoredis(Object.assign(new FakeClient(), { isCluster: false }).redis).clustered).toBe(false);
    const lazy = new Redis({ lazyConnect: true });
    expect(connectIoredis(lazy).clustered).toBe(false);
    lazy.disconnect();
  });
});
