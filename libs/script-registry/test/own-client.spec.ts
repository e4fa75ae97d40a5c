import { once } from 'node:events';
import { join } from 'node:path';
import { Logger, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { ScriptRegistry, ScriptRegistryModule, type ScriptRegistryModuleOptions } from 'luanest/script-registry';
import { startRedis } from 'luanest/testing/servers';
import { forkWorker } from '../../../test/support/fork-worker';
import { freePort } from '../../../test/support/free-port';
import { sharedClusterNodes, sharedRedisUrl, uniquePrefix } from '../../../test/support/shared-servers';
import { eventually, waitUntil } from '../../../test/support/wait';
import { append } from './support';
import { itIoredis } from '../../../test/support/client-kind';

const apps: INestApplicationContext[] = [];
afterEach(async () => {
  jest.restoreAllMocks();
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

async function boot(options: ScriptRegistryModuleOptions): Promise<INestApplicationContext> {
  const registry = ScriptRegistryModule.forRoot({ prefix: uniquePrefix(), ...options });
  const imports = [registry, ScriptRegistryModule.forFeature([append])];
  const app = await NestFactory.createApplicationContext(
    { module: class App {}, imports },
    { logger: false, abortOnError: false },
  );
  apps.push(app);
  return app;
}

async function length(app: INestApplicationContext): Promise<number> {
  const registry = app.get(ScriptRegistry);
  return registry.run(append, { keys: { log: registry.keySpace('test').tag('x').key('log') }, args: { entry: 'a' } });
}

/** Runs an app in a process of its own. @returns what its health was, when the process has ended by itself */
async function runToTheEnd(options: ScriptRegistryModuleOptions): Promise<unknown> {
  const worker = forkWorker(join(__dirname, 'own-client.worker.ts'));
  worker.send({ prefix: uniquePrefix(), ...options });
  let healthy: unknown;
  let ended = false;
  worker.once('message', (message) => (healthy = message));
  void once(worker, 'exit').then(() => (ended = true));
  try {
    await waitUntil('the process ends', () => ended, 30_000);
  } finally {
    worker.kill('SIGKILL');
  }
  return healthy;
}

describe('a client that the registry makes', () => {
  it.each<[string, () => ScriptRegistryModuleOptions]>([
    ['url', () => ({ url: sharedRedisUrl() })],
    ['connection of a server', () => ({ connection: { port: Number(new URL(sharedRedisUrl()).port) } })],
    ['connection of a Cluster', () => ({ connection: { nodes: sharedClusterNodes() } })],
  ])('runs scripts, and has ended when the app is closed: %s', async (_, options) => {
    const app = await boot({ ...options(), preload: 'required' });
    expect(await length(app)).toBe(1);
    await app.close();
    await expect(length(app)).rejects.toMatchObject({ code: 'NOT_SENT' });
  });

  it('does not keep the process alive after app.close(), with Redis or without', async () => {
    const [healthy, unhealthy] = await Promise.all([
      runToTheEnd({ url: sharedRedisUrl() }),
      runToTheEnd({ connection: { port: await freePort() } }),
    ]);
    expect([healthy, unhealthy]).toEqual([true, false]);
  });

  it('leaves no timer of ioredis when Redis has stopped', async () => {
    const server = await startRedis();
    const app = await boot({ connection: { port: server.port, retryStrategy: () => 10_000 }, preload: 'required' });
    await server.stop();
    await waitUntil('the client has lost Redis', async () => !(await app.get(ScriptRegistry).health()).healthy);
    const set = jest.spyOn(globalThis, 'setTimeout');
    const cleared = jest.spyOn(globalThis, 'clearTimeout');
    await app.close();
    // The time that ioredis gives a socket to close.
    const timers = set.mock.results
      .filter((_, i) => set.mock.calls[i]?.[1] === 2_000)
      .map(({ value }) => value as unknown);
    await waitUntil(
      'none is left',
      () => timers.every((timer) => cleared.mock.calls.some(([one]) => one === timer)),
      1_500,
    );
  });

  it('ends within two seconds when Redis does not answer', async () => {
    const server = await startRedis();
    const app = await boot({ url: server.url, preload: 'required' });
    server.pause();
    try {
      const began = performance.now();
      await app.close();
      expect(performance.now() - began).toBeLessThan(5_000);
    } finally {
      server.resume();
      await server.stop();
    }
  });

  it('is not left connected when the boot of the app fails', async () => {
    const server = await startRedis();
    const admin = new Redis(server.port, server.host);
    await expect(boot({ url: server.url, deadlineMs: 0 })).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    const Broken = { provide: 'broken', useFactory: () => Promise.reject(new Error('broken')) };
    await expect(
      NestFactory.createApplicationContext(
        { module: class App {}, imports: [ScriptRegistryModule.forRoot({ url: server.url })], providers: [Broken] },
        { logger: false, abortOnError: false },
      ),
    ).rejects.toThrow('broken');
    expect((await admin.client('LIST')) as string).not.toMatch(/\n.*\n/);
    admin.disconnect();
    await server.stop();
  });

  itIoredis('logs one line when Redis becomes unavailable and one when it is back', async () => {
    const lines: string[] = [];
    for (const level of ['warn', 'log'] as const) {
      jest.spyOn(Logger.prototype, level).mockImplementation((...args: unknown[]) => void lines.push(String(args[0])));
    }
    const server = await startRedis();
    const app = await boot({ url: server.url, preload: 'required' });
    lines.length = 0;
    await server.kill();
    await eventually(() =>
      expect(lines).toEqual([expect.stringMatching(/^The connection to Redis was lost: .*ECONNREFUSED/)]),
    );
    await server.restart();
    await eventually(() => expect(lines.slice(1)).toEqual(['The client is connected to Redis again.']));
    expect(await length(app)).toBe(1);
    await app.close();
    await server.stop();
  });

  it.each<[ScriptRegistryModuleOptions, string]>([
    [
      { url: 'localhost:6379' },
      'url is not an address of Redis. Expected an address such as redis://:password@127.0.0.1:6379/0 or rediss://host:6380.',
    ],
    [
      { url: 6379 as never },
      'url is 6379. Expected an address such as redis://:password@127.0.0.1:6379/0 or rediss://host:6380.',
    ],
    [
      { url: 'redis://h', connection: {} },
      'url and connection are set. Set only one of them, the one for the Redis that the app uses.',
    ],
    [{ connection: 'redis://h' as never }, 'connection is "redis://h". Expected an object with ioredis\' options.'],
    [{ connection: { nodes: [] } }, 'connection.nodes is an array of 0. Expected an array of at least one node.'],
  ])('%j is refused', async (options, message) => {
    await expect(boot(options)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: `ScriptRegistryModule: ${message}`,
    });
  });
});
