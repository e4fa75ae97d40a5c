import { once } from 'node:events';
import { type Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import { ManualClock } from '../src/redis/clock';
import { MemoryRedis } from '../src/redis/memory-redis';

const NOW = 1_800_000_000_000;

describe.each([
  ['ioredis 6, RESP3', { protocol: 3 }],
  ['ioredis 6, RESP2', { protocol: 2 }],
])('%s', (_name, options) => {
  it('connects without a port, and calls scripts and commands', async () => {
    const client = new MemoryRedis().client(options as object);
    await client.hset('h', { a: '1', b: '2' });
    await expect(client.hgetall('h')).resolves.toEqual({ a: '1', b: '2' });
    await expect(client.zadd('z', 1.5, 'x', 2, 'y')).resolves.toBe(2);
    await expect(client.eval("return {redis.call('ZSCORE', KEYS[1], 'x'), #ARGV}", 1, 'z', 'a')).resolves.toEqual([
      '1.5',
      1,
    ]);
    await expect(client.multi().incr('n').get('n').exec()).resolves.toEqual([
      [null, 1],
      [null, '1'],
    ]);
    await expect(client.incr('h')).rejects.toThrow('WRONGTYPE Operation against a key holding the wrong kind of value');
    await client.quit();
  });

  it('delivers messages of channels to other connections', async () => {
    const client = new MemoryRedis().client(options as object);
    const listener = client.duplicate();
    await listener.ssubscribe('news');
    const message = once(listener, 'smessage');
    await expect(client.spublish('news', 'hello')).resolves.toBe(1);
    await expect(message).resolves.toEqual(['news', 'hello']);
    listener.disconnect();
    client.disconnect();
  });
});

it('works with ioredis 5', async () => {
  const memory = new MemoryRedis();
  const client = new Redis5(memory.clientOptions as object);
  await expect(client.set('a', Buffer.from([0, 255]))).resolves.toBe('OK');
  await expect(client.getBuffer('a')).resolves.toEqual(Buffer.from([0, 255]));
  await expect(client.quit()).resolves.toBe('OK');
});

it('connects again after a connection has closed', async () => {
  const memory = new MemoryRedis();
  const client = memory.client({ retryStrategy: () => 1 });
  await client.set('a', '1');
  client.disconnect(true);
  await once(client, 'ready');
  await expect(client.get('a')).resolves.toBe('1');
  client.disconnect();
});

it('expires keys by a clock that is set', async () => {
  const clock = new ManualClock(NOW);
  const client = new MemoryRedis({ clock }).client();
  await client.set('a', '1', 'PX', 100);
  await expect(client.pttl('a')).resolves.toBe(100);
  clock.advance(100);
  await expect(client.get('a')).resolves.toBe('1');
  clock.advance(1);
  await expect(client.get('a')).resolves.toBeNull();
  await expect(client.call('TIME')).resolves.toEqual(['1800000000', '101000']);
  await expect(client.xadd('s', '*', 'f', 'v')).resolves.toBe(`${NOW + 101}-0`);
  client.disconnect();
});

describe('snapshot', () => {
  it('returns all keys to what they were, as often as wanted', async () => {
    const memory = new MemoryRedis({ clock: new ManualClock(NOW) });
    const client: Redis = memory.client();
    await client.hset('h', 'a', '1');
    await client.rpush('l', '1', '2');
    await client.xadd('s', '1-1', 'f', 'v');
    await client.xgroup('CREATE', 's', 'g', '0');
    const state = async (): Promise<unknown> => [
      (await client.keys('*')).sort(),
      await client.hgetall('h'),
      await client.pttl('h'),
      await client.lrange('l', 0, -1),
      await client.xrange('s', '-', '+'),
      await client.xpending('s', 'g'),
      await client.xinfo('GROUPS', 's'),
    ];
    const before = await state();
    const snapshot = memory.snapshot();
    for (let round = 0; round < 3; round++) {
      await client.hset('h', 'a', '2', 'b', '3');
      await client.pexpire('h', 1000);
      await client.del('l');
      await client.xreadgroup('GROUP', 'g', 'c', 'STREAMS', 's', '>');
      await client.xadd('s', '2-1', 'f', 'w');
      await client.set('new', '1');
      expect(await state()).not.toEqual(before);
      memory.restore(snapshot);
      expect(await state()).toEqual(before);
    }
    client.disconnect();
  });

  it('refuses a snapshot that is later than one that was restored', () => {
    const memory = new MemoryRedis();
    const first = memory.snapshot();
    const second = memory.snapshot();
    memory.restore(second);
    memory.restore(first);
    expect(() => memory.restore(second)).toThrow(RangeError);
  });
});
