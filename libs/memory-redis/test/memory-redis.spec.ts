import { once } from 'node:events';
import { Redis as Redis5 } from 'ioredis5';
import { ManualClock } from '../src/clock';
import { MemoryRedis } from '../src/memory-redis';

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

describe('run', () => {
  it('returns at once what a client returns', async () => {
    const clock = new ManualClock(NOW);
    const memory = new MemoryRedis({ clock });
    const client = new MemoryRedis({ clock }).client({ protocol: 2 } as object);
    const commands: [string, (string | number | Buffer)[]][] = [
      ['SET', ['a', 'ä€', 'PX', 100]],
      ['GET', ['a']],
      ['GET', ['none']],
      ['HSET', ['h', 'f', Buffer.from('v')]],
      ['HMGET', ['h', 'f', 'g']],
      ['ZADD', ['z', 1.5, 'm']],
      ['ZSCORE', ['z', 'm']],
      ['XADD', ['s', '1-1', 'f', 'v']],
      ['XREAD', ['STREAMS', 's', '1-1']],
      ['XRANGE', ['s', '-', '+']],
      ['EVAL', ["return {1, false, 'x', {ARGV[1]}, redis.call('TIME')}", 1, 'a', 'é']],
      ['MULTI', []],
      ['INCR', ['a']],
      ['EXEC', []],
    ];
    for (const [command, args] of commands) {
      const direct = memory.run(command, args);
      expect(direct).toEqual(await client.call(command, ...args));
    }
    expect(memory.runBuffer('HMGET', ['h', 'f', 'g'])).toEqual([Buffer.from('v'), null]);
    const error: unknown = await client.call('INCR', 'h').catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'ReplyError' });
    expect(() => memory.run('INCR', ['h'])).toThrow(expect.objectContaining({ name: 'ReplyError' }) as Error);
    expect(() => memory.run('INCR', ['h'])).toThrow((error as Error).message);
    client.disconnect();
  });
});

it('aborts a transaction whose watched keys have changed', async () => {
  const clock = new ManualClock(NOW);
  const memory = new MemoryRedis({ clock });
  const client = memory.client();
  const transaction = async (change: () => unknown): Promise<unknown> => {
    await client.watch('a', 'b');
    change();
    return client.multi().set('a', 'mine').exec();
  };
  const done = [[null, 'OK']];
  await expect(transaction(() => memory.run('SET', ['b', 1]))).resolves.toBeNull();
  await expect(transaction(() => memory.run('SET', ['c', 1]))).resolves.toEqual(done);
  await expect(transaction(() => memory.run('INCR', ['b']))).resolves.toBeNull();
  await expect(transaction(() => memory.run('PEXPIRE', ['a', 10]))).resolves.toBeNull();
  await expect(transaction(() => clock.advance(11))).resolves.toBeNull();
  await expect(transaction(() => memory.run('DEL', ['a']))).resolves.toEqual(done);
  await client.watch('a');
  memory.run('DEL', ['a']);
  await client.unwatch();
  await expect(client.multi().set('a', '1').exec()).resolves.toEqual(done);
  client.disconnect();
});

it('refuses commands that wait, with the remedy', () => {
  const memory = new MemoryRedis();
  const remedy = 'Test this code with a server of luanest/testing/servers';
  expect(() => memory.run('BLPOP', ['a', 0])).toThrow(`ERR MemoryRedis does not support BLPOP. ${remedy}`);
  expect(() => memory.run('XREAD', ['BLOCK', 0, 'STREAMS', 'a', '$'])).toThrow(
    `ERR MemoryRedis does not support BLOCK. ${remedy}`,
  );
});
