import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { Redis } from 'ioredis';
import { join } from 'node:path';
import { EmbeddedRedis } from '../../src/platform/embedded/embedded-redis';
import { RedisFolder } from '../../src/platform/embedded/redis-folder';
import type { RedisEndpoint } from '../../src/platform/embedded/redis-inline';
import { waitUntil } from '../support/wait';
import { alive, built, endOrphan, Program, redisPid } from './support/processes';
import { makeTempFolder, removeFolder } from './support/temp-folder';

const silent = { log: () => undefined, warn: () => undefined };
let dataDir: string;
const started: EmbeddedRedis[] = [];

beforeEach(async () => (dataDir = await makeTempFolder()));
afterEach(async () => {
  await Promise.all(started.splice(0).map((redis) => redis.stop()));
  await endOrphan(dataDir);
  await removeFolder(dataDir);
});

async function joinServer(): Promise<EmbeddedRedis> {
  const redis = await EmbeddedRedis.start(dataDir, silent);
  started.push(redis);
  return redis;
}

async function ask<T>(endpoint: RedisEndpoint, work: (client: Redis) => Promise<T>): Promise<T> {
  // A server that is being started may take its time.
  const client = new Redis({ ...endpoint, retryStrategy: () => 50, maxRetriesPerRequest: null });
  client.on('error', () => undefined);
  try {
    return await work(client);
  } finally {
    client.disconnect();
  }
}

it('loses nothing over a stop and a start, and keeps its folder private', async () => {
  const first = await joinServer();
  await ask(first.endpoint, (client) => client.set('k', 'v'));
  const settings = await ask(first.endpoint, (client) => client.config('GET', 'append*'));
  expect(settings).toEqual(expect.arrayContaining(['appendonly', 'yes', 'appendfsync', 'always']));
  expect((await stat(join(dataDir, 'redis'))).mode & 0o777).toBe(0o700);
  expect((await stat(join(dataDir, 'redis', 'redis.conf'))).mode & 0o777).toBe(0o600);
  const pid = (await redisPid(dataDir)) as number;
  await first.stop();
  expect(alive(pid)).toBe(false);
  const second = await joinServer();
  expect(await ask(second.endpoint, (client) => client.get('k'))).toBe('v');
});

it('lets nobody in without the password', async () => {
  const { endpoint } = await joinServer();
  await expect(ask({ ...endpoint, password: '' }, (client) => client.get('k'))).rejects.toThrow('NOAUTH');
});

it('serves all who start at once from one server, which the last one takes down', async () => {
  const [a, b, c] = await Promise.all([joinServer(), joinServer(), joinServer()] as const);
  expect(b.endpoint).toEqual(a.endpoint);
  expect(c.endpoint).toEqual(a.endpoint);
  const pid = (await redisPid(dataDir)) as number;
  await Promise.all([a.stop(), b.stop()]);
  expect(alive(pid)).toBe(true);
  expect(await ask(c.endpoint, (client) => client.ping())).toBe('PONG');
  await c.stop();
  expect(alive(pid)).toBe(false);
});

it('starts a killed server again on the same port with its data, once for all who use it', async () => {
  const [a] = await Promise.all([joinServer(), joinServer()] as const);
  await ask(a.endpoint, (client) => client.set('k', 'v'));
  for (let round = 0; round < 2; round += 1) {
    const pid = (await redisPid(dataDir)) as number;
    process.kill(pid, 'SIGKILL');
    await waitUntil('another server runs', async () => ((await redisPid(dataDir)) ?? pid) !== pid);
    expect(await ask(a.endpoint, (client) => client.get('k'))).toBe('v');
  }
});

it('finds the server of a killed parent again instead of starting a second one', async () => {
  const script = `
    const { EmbeddedRedis } = require(${JSON.stringify(built('platform/embedded/embedded-redis.js'))});
    EmbeddedRedis.start(${JSON.stringify(dataDir)}, console).then(({ endpoint }) => console.log('port', endpoint.port));`;
  const parent = Program.node(['-e', script], {});
  const [, port] = await parent.line(/port (\d+)/);
  const orphan = (await redisPid(dataDir)) as number;
  await parent.end('SIGKILL');
  expect(alive(orphan)).toBe(true);
  const { endpoint } = await joinServer();
  expect(endpoint.port).toBe(Number(port));
  expect(await redisPid(dataDir)).toBe(orphan);
});

it('says whom to stop when a server holds the folder and its address is lost', async () => {
  await joinServer();
  const pid = await redisPid(dataDir);
  const folder = new RedisFolder(join(dataDir, 'redis'), 200);
  const address = join(dataDir, 'redis', 'address.json');
  await writeFile(address, '{"port":');
  await expect(folder.ensureServer()).rejects.toThrow(
    new RegExp(`address\\.json is missing or damaged\\. .* Else stop process ${pid} `),
  );
  await rm(address);
  await expect(folder.ensureServer()).rejects.toThrow('address.json is missing or damaged');
  await writeFile(address, '{"port":1}');
  await expect(folder.ensureServer()).rejects.toThrow('accepts no commands on port 1. ');
});

it('says why a server does not start', async () => {
  await mkdir(join(dataDir, 'redis', 'appendonlydir'), { recursive: true });
  await writeFile(join(dataDir, 'redis', 'appendonlydir', 'appendonly.aof.manifest'), 'nonsense');
  await expect(new RedisFolder(join(dataDir, 'redis'), 5_000).ensureServer()).rejects.toThrow(
    /did not start.*ended with exit status 1.*manifest/s,
  );
});
