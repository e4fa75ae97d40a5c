import { performance } from 'node:perf_hooks';
import { Redis, type RedisOptions } from 'ioredis';
import { startFaultProxy, startRedis, type FaultProxy, type RedisServer } from 'luanest/testing/servers';
import { RespFrames } from '../../src/servers/resp-frames';
import { eventually } from '../../../../test/support/wait';

let server: RedisServer;
let direct: Redis;
let proxy: FaultProxy;
const clients: Redis[] = [];

/** A client that never resends by itself, so that what one connection met can be seen. */
async function connect(options: RedisOptions = {}): Promise<Redis> {
  const client = new Redis({
    host: proxy.host,
    port: proxy.port,
    lazyConnect: true,
    retryStrategy: null,
    maxRetriesPerRequest: 0,
    disconnectTimeout: 100,
    ...options,
  });
  client.on('error', () => undefined);
  clients.push(client);
  await client.connect();
  return client;
}

const silence = (ms: number): Promise<string> => new Promise((resolve) => setTimeout(() => resolve('silence'), ms));

beforeAll(async () => {
  server = await startRedis();
  direct = new Redis(server.url);
});

afterAll(async () => {
  direct.disconnect();
  await server.stop();
});

beforeEach(async () => {
  await direct.flushall();
  proxy = await startFaultProxy(server);
});

afterEach(async () => {
  for (const client of clients.splice(0)) if (client.status !== 'end') client.disconnect();
  await proxy.stop();
  await proxy.stop();
});

describe('FaultProxy', () => {
  it('passes requests and replies of any size, in both protocols', async () => {
    const large = 'x'.repeat(3_000_000);
    for (const protocol of [2, 3] as const) {
      const client = await connect({ protocol });
      await client.set('large', large);
      await expect(client.get('large')).resolves.toBe(large);
      await expect(client.hset('h', { a: 1 })).resolves.toEqual(expect.any(Number));
      await expect(client.hgetall('h')).resolves.toEqual({ a: '1' });
    }
    expect(proxy.connections).toBe(2);
  });

  it('delays each direction without serialising what is in flight', async () => {
    const client = await connect();
    proxy.delay(25);
    const before = performance.now();
    await client.ping();
    const oneTrip = performance.now() - before;
    expect(oneTrip).toBeGreaterThanOrEqual(50);
    const replies = await Promise.all(Array.from({ length: 500 }, () => client.incr('n')));
    const allTrips = performance.now() - before - oneTrip;
    expect(replies).toEqual(Array.from({ length: 500 }, (_, index) => index + 1));
    expect(allTrips).toBeGreaterThanOrEqual(50);
    expect(allTrips).toBeLessThan(500 * 50 * 0.5);
    proxy.pass();
    await expect(client.incr('n')).resolves.toBe(501);
  });

  it('leads new connections to another target, for a failover behind one address', async () => {
    const other = await startRedis();
    const client = await connect();
    await client.set('who', 'first');
    proxy.target = other;
    await expect(client.get('who')).resolves.toBe('first');
    await expect((await connect()).get('who')).resolves.toBeNull();
    await other.stop();
  });

  it('takes the URL of a server', async () => {
    const front = await startFaultProxy(server.url);
    const client = await connect({ port: front.port });
    await expect(client.ping()).resolves.toBe('PONG');
    client.disconnect();
    await front.stop();
  });

  it('cut: present connections break, new ones pass', async () => {
    const client = await connect();
    const ended = new Promise((resolve) => client.once('end', resolve));
    const failed = expect(client.blpop('empty', 0)).rejects.toThrow();
    await eventually(async () => expect((await direct.info('clients')).includes('blocked_clients:1')).toBe(true));
    proxy.cut();
    await Promise.all([ended, failed]);
    await expect((await connect()).ping()).resolves.toBe('PONG');
  });

  it('refuse: nobody gets through until pass', async () => {
    const client = await connect();
    const ended = new Promise((resolve) => client.once('end', resolve));
    proxy.refuse();
    await ended;
    await expect(connect()).rejects.toThrow();
    proxy.pass();
    await expect((await connect()).ping()).resolves.toBe('PONG');
  });

  it('blackhole: connections stay open and silent, and those that lost bytes break on pass', async () => {
    const [used, unused] = [await connect(), await connect()];
    const ended = new Promise((resolve) => used.once('end', resolve));
    proxy.blackhole();
    const lost = used.incr('n');
    lost.catch(() => undefined);
    await expect(Promise.race([lost, silence(200)])).resolves.toBe('silence');
    expect(used.status).toBe('ready');
    await expect(direct.get('n')).resolves.toBeNull();
    proxy.pass();
    await ended;
    await expect(lost).rejects.toThrow();
    await expect(unused.incr('n')).resolves.toBe(1);
  });
});

describe('FaultProxy.dropReply', () => {
  it('loses the reply to a request that the server has run, once', async () => {
    const client = await connect();
    const cut = proxy.dropReply({ when: (request) => request.includes('incr') });
    await expect(client.ping()).resolves.toBe('PONG');
    await expect(client.incr('n')).rejects.toThrow();
    await cut;
    await expect(direct.get('n')).resolves.toBe('1');
    await expect((await connect()).incr('n')).resolves.toBe(2);
  });

  it('makes a client that resends run the command twice', async () => {
    const client = await connect({ retryStrategy: () => 10, maxRetriesPerRequest: 5 });
    const cut = proxy.dropReply({ when: (request) => request.includes('incr') });
    await expect(client.incr('n')).resolves.toBe(2);
    await cut;
  });

  it('finds one request in a pipeline: earlier replies arrive, later ones are lost though they ran', async () => {
    const client = await connect();
    proxy.delay(5);
    const cut = proxy.dropReply({ when: (request) => request.includes('second') });
    const replies = await Promise.allSettled([client.incr('first'), client.incr('second'), client.incr('third')]);
    await cut;
    expect(replies.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    await expect(direct.mget('first', 'second', 'third')).resolves.toEqual(['1', '1', '1']);
  });

  it('passes the given number of replies, and does not touch other connections', async () => {
    const [client, other] = [await connect(), await connect()];
    const cut = proxy.dropReply({ afterReplies: 2, when: (request) => request.includes('incr') });
    const replies = await Promise.allSettled([client.incr('n'), client.incr('n'), client.incr('n'), client.incr('n')]);
    await cut;
    expect(replies.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected']);
    await expect(other.get('n')).resolves.toBe('4');
  });

  it('resolves too when the server dies before it replies', async () => {
    const mortal = await startRedis();
    const front = await startFaultProxy(mortal);
    const client = await connect({ port: front.port });
    const cut = front.dropReply({ when: (request) => request.includes('blpop') });
    const failed = expect(client.blpop('empty', 0)).rejects.toThrow();
    await mortal.kill();
    await Promise.all([cut, failed]);
    await front.stop();
    await mortal.stop();
  });
});

describe('FaultProxy.dropRequest', () => {
  it('loses a request that the server never runs, once', async () => {
    const client = await connect();
    const dropped = proxy.dropRequest({ when: (request) => request.includes('incr') });
    await expect(client.ping()).resolves.toBe('PONG');
    await expect(client.incr('n')).rejects.toThrow();
    await dropped;
    await expect(direct.get('n')).resolves.toBeNull();
    await expect((await connect()).incr('n')).resolves.toBe(1);
  });

  it('finds one request in a pipeline: earlier ones are answered, later ones never run', async () => {
    const client = await connect();
    proxy.delay(5);
    const dropped = proxy.dropRequest({ when: (request) => request.includes('second') });
    const replies = await Promise.allSettled([client.incr('first'), client.incr('second'), client.incr('third')]);
    await dropped;
    expect(replies.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    await expect(direct.mget('first', 'second', 'third')).resolves.toEqual(['1', null, null]);
  });

  it('loses a large request of which the server has got a part', async () => {
    const client = await connect();
    const dropped = proxy.dropRequest();
    await expect(client.set('large', 'x'.repeat(3_000_000))).rejects.toThrow();
    await dropped;
    await expect(direct.exists('large')).resolves.toBe(0);
  });
});

describe('what FaultProxy is to lose', () => {
  it('is called off by pass', async () => {
    const client = await connect();
    const planned = [proxy.dropReply(), proxy.dropRequest()];
    proxy.pass();
    await Promise.all(planned);
    await expect(client.incr('n')).resolves.toBe(1);
    await expect(client.incr('n')).resolves.toBe(2);
  });

  it('rejects with the reason of `until`, after it has cut the connection', async () => {
    const client = await connect();
    const dropped = proxy.dropReply({ until: Promise.reject(new Error('not yet')) });
    const failed = expect(dropped).rejects.toThrow('not yet');
    await expect(client.incr('n')).rejects.toThrow();
    await failed;
  });
});

describe('RespFrames', () => {
  const frames = [
    '+OK\r\n',
    ':-1\r\n',
    '$-1\r\n',
    '$0\r\n\r\n',
    '$4\r\n\r\n:1\r\n',
    '*-1\r\n',
    '*0\r\n',
    '*2\r\n*1\r\n$1\r\na\r\n_\r\n',
    '%2\r\n+a\r\n:1\r\n+b\r\n*2\r\n:1\r\n:2\r\n',
    '|1\r\n+ttl\r\n:9\r\n$1\r\nx\r\n',
    '>2\r\n+message\r\n=6\r\ntxt:hi\r\n',
    '~1\r\n#t\r\n',
    ',3.5\r\n',
  ];

  it('cuts the same frames out of any chunks', () => {
    const stream = Buffer.from(frames.join(''));
    for (const size of [1, 2, 3, 7, stream.length]) {
      const parser = new RespFrames();
      const found: string[] = [];
      for (let at = 0; at < stream.length; at += size) {
        found.push(...parser.push(stream.subarray(at, at + size)).map(String));
      }
      expect(found).toEqual(frames);
    }
  });

  it('hands on what is not RESP', () => {
    const parser = new RespFrames();
    expect(parser.push(Buffer.from('+OK\r\nhello')).map(String)).toEqual(['+OK\r\n', 'hello']);
    expect(parser.push(Buffer.from('+OK')).map(String)).toEqual(['+OK']);
  });
});

it('settles a fault that is still to come when the proxy stops', async () => {
  const idle = await startFaultProxy({ host: '127.0.0.1', port: 1 });
  const planned = Promise.all([idle.dropReply(), idle.dropRequest()]);
  await idle.stop();
  await expect(planned).resolves.toEqual([undefined, undefined]);
});

it.each([
  'redis://u:secret@h:99999',
  'redis://:sec/ret@h:99999',
  'u:secret@h:99999',
  'redis://h:99999?password=secret',
  'http://u:secret@h',
])('hides the password of an invalid URL: %s', async (url) => {
  const error = await startFaultProxy(url).then(String, String);
  expect(error).toMatch(/startFaultProxy: target is ".*Expected a URL redis:/);
  expect(error).not.toMatch(/sec|ret\b/);
});
