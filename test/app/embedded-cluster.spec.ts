import { Controller, Get, Module } from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Redis } from 'ioredis';
import { NotSentError } from 'luanest/script-registry';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EmbeddedCluster } from '../../src/platform/embedded/embedded-cluster';
import { freePort } from '../../src/platform/embedded/free-port';
import { redisCluster, singleRedis } from '../../src/platform/redis-source';
import { RefusalFilter } from '../../src/platform/refusal.filter';
import { waitForRedis } from '../../src/platform/redis-wait';
import { waitUntil } from '../support/wait';
import { makeTempFolder, removeFolder } from './support/temp-folder';

jest.setTimeout(120_000);

const silent = { log: () => undefined, warn: () => undefined };
const never = new AbortController().signal;

it('takes no port above the highest, also where the system or an earlier start has chosen one', async () => {
  for (let i = 0; i < 5; i += 1) expect(await freePort(undefined, 20_000)).toBeLessThanOrEqual(20_000);
  expect(await freePort(60_000, 55_535)).toBeLessThanOrEqual(55_535);
});

it('a Cluster replaces a port that its bus cannot use, starts a dead master again, and is waited for', async () => {
  const dataDir = await makeTempFolder();
  const address = join(dataDir, 'cluster', '1', 'address.json');
  await mkdir(join(dataDir, 'cluster', '1'), { recursive: true });
  await writeFile(address, '{"port":60000}');
  let cluster: EmbeddedCluster | undefined;
  try {
    cluster = await EmbeddedCluster.start(dataDir, silent);
    expect(cluster.endpoints.every(({ port }) => port <= 55_535)).toBe(true);
    expect(JSON.parse(await readFile(address, 'utf8'))).toEqual({ port: cluster.endpoints[0]?.port });

    const urls = cluster.endpoints.map(({ host, port, password }) => `redis://:${password}@${host}:${port}`);
    await waitForRedis(redisCluster(urls), silent, never);
    const pidFile = join(dataDir, 'cluster', '2', 'redis.pid');
    const pid = Number(await readFile(pidFile, 'utf8'));
    process.kill(pid, 'SIGKILL');
    const warnings: string[] = [];
    const waiting = waitForRedis(redisCluster(urls), { ...silent, warn: (line) => void warnings.push(line) }, never);
    await waitUntil('another process serves', async () => {
      const now = await readFile(pidFile, 'utf8').catch(() => '');
      return now.trim() !== '' && Number(now) !== pid;
    });
    await waiting;
    expect(warnings.length).toBeLessThanOrEqual(1);
    const client = new Redis(cluster.endpoints[1] as { host: string; port: number; password: string });
    expect(await client.ping()).toBe('PONG');
    client.disconnect();
  } finally {
    await cluster?.stop();
    await removeFolder(dataDir);
  }
});

it('a wait for Redis ends by its signal', async () => {
  const controller = new AbortController();
  const warned = (line: string): void => {
    expect(line).toMatch(/^Redis at .* is not ready/);
    controller.abort();
  };
  const waiting = waitForRedis(
    singleRedis({ host: '127.0.0.1', port: 1 }),
    { ...silent, warn: warned },
    controller.signal,
  );
  await expect(waiting).rejects.toThrow(/abort/i);
});

it('names a Redis that accepts a connection and does not answer, before an attempt fails, and ends by its signal', async () => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const controller = new AbortController();
  const lines: string[] = [];
  const warn = (line: string): void => {
    lines.push(line);
    controller.abort();
  };
  const url = `redis://user:hunter2@127.0.0.1:${port}`;
  try {
    await expect(waitForRedis(singleRedis({ url }), { ...silent, warn }, controller.signal)).rejects.toThrow(/abort/i);
    // An attempt that fails has another reason.
    expect(lines).toEqual([
      `Redis at 127.0.0.1:${port} is not ready (no answer for 1 s). The app starts when Redis is ready.`,
    ]);
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
});

it('a route of the app answers 503 where Redis does not answer', async () => {
  @Controller()
  class Routes {
    @Get()
    fail(): never {
      throw new NotSentError('a.script', new Error('no connection'));
    }
  }
  class App {}
  Module({ controllers: [Routes], providers: [{ provide: APP_FILTER, useClass: RefusalFilter }] })(App);
  const app = await NestFactory.create(App, new FastifyAdapter(), { logger: false });
  await app.listen(0, '127.0.0.1');
  try {
    const answer = await fetch(await app.getUrl());
    expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining('REDIS_UNAVAILABLE')]);
  } finally {
    await app.close();
  }
});
