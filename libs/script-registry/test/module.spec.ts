import { Injectable, Module, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TerminusModule, HealthCheckService } from '@nestjs/terminus';
import { ClusterModule, ClusterService, RedisModule, RedisService } from '@liaoliaots/nestjs-redis';
import { type Cluster, Redis } from 'ioredis';
import {
  getScriptRegistryToken,
  InjectScriptRegistry,
  ScriptRegistry,
  ScriptRegistryHealthIndicator,
  ScriptRegistryModule,
  defineScript,
} from 'luanest/script-registry';
import { startCluster, startRedis } from 'luanest/testing/servers';
import { PreloadFailedError } from '../src/script-registry.errors';
import { InvalidOptionError } from '../../internal/src';
import { sharedClusterNodes, sharedRedisUrl, uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { freePort } from '../../../test/support/free-port';
import { connectClient } from '../src/connection/connect';
import { FIXED } from '../src/script-registry.options';
import { append, limiter, quiet } from './support';

const apps: INestApplicationContext[] = [];
/** Clients of apps that did not boot: nobody else closes those. */
const clients: { disconnect(): void }[] = [];
const onClientCreated = (client: Redis | Cluster): void => void clients.push(quiet(client));

async function boot(
  ...imports: NonNullable<Parameters<typeof Module>[0]['imports']>
): Promise<INestApplicationContext> {
  class App {}
  Module({ imports })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
  apps.push(app);
  return app;
}

/** Before their server goes: clients that lose it first linger until their timers have rung. */
async function closeApps(): Promise<void> {
  await Promise.all(apps.splice(0).map((app) => app.close()));
  for (const client of clients.splice(0)) client.disconnect();
}
afterEach(closeApps);

const redisUrl = (): string => sharedRedisUrl();
const silent = { errorLog: false };

describe('ScriptRegistryModule', () => {
  it('takes its client from RedisModule, the default one', async () => {
    const app = await boot(
      RedisModule.forRoot({ config: { url: redisUrl(), onClientCreated } }),
      ScriptRegistryModule.forRoot({ prefix: uniquePrefix(), preload: 'required' }),
      ScriptRegistryModule.forFeature([limiter]),
    );
    const registry = app.get(ScriptRegistry);
    const counter = registry.keySpace('test').tag('x').key('counter');
    expect(
      await registry.run(limiter, { keys: { counter }, args: { limit: 1, windowMs: 60_000, cost: 1 } }),
    ).toMatchObject({ used: 1 });
  });

  it('takes an adapter for another client, and closes it with the app', async () => {
    const client = quiet(new Redis(redisUrl()));
    clients.push(client);
    const adapter = connectClient(client);
    const close = jest.spyOn(adapter, 'close');
    const app = await boot(ScriptRegistryModule.forRoot({ client: adapter, prefix: uniquePrefix() }));
    expect(await app.get(ScriptRegistry).health()).toEqual({ healthy: true, problems: [] });
    expect(close).not.toHaveBeenCalled();
    await app.close();
    expect(close).toHaveBeenCalledTimes(1);
  });

  it('takes it from a namespace, from ClusterModule, or from a factory, and keeps two registries apart', async () => {
    const prefix = uniquePrefix();
    @Injectable()
    class Points {
      constructor(@InjectScriptRegistry('points') readonly registry: ScriptRegistry) {}
    }
    @Module({
      imports: [ScriptRegistryModule.forFeature([append], 'points')],
      providers: [Points],
      exports: [Points],
    })
    class PointsModule {}
    const app = await boot(
      RedisModule.forRoot({ config: [{ namespace: 'other', url: redisUrl(), db: 3 }] }),
      ClusterModule.forRoot({ config: { nodes: sharedClusterNodes(), onClientCreated } }),
      ScriptRegistryModule.forRootAsync({
        inject: [RedisService],
        useFactory: (redis: RedisService) => ({ prefix, client: redis.getOrThrow('other'), preload: 'required' }),
      }),
      ScriptRegistryModule.forRootAsync({
        name: 'points',
        inject: [ClusterService],
        useFactory: (clusters: ClusterService) =>
          Promise.resolve({ prefix, client: clusters.getOrThrow(), preload: 'required' as const }),
      }),
      ScriptRegistryModule.forFeature([append]),
      PointsModule,
    );
    const main = app.get(ScriptRegistry);
    const { registry: points } = app.get(Points);
    expect(points).toBe(app.get(getScriptRegistryToken('points')));
    expect(points).not.toBe(main);
    const log = main.keySpace('test').tag('x').key('log');
    expect(await main.run(append, { keys: { log }, args: { entry: 'a' } })).toBe(1);
    expect(await points.run(append, { keys: { log }, args: { entry: 'b' } })).toBe(1);
    expect(await main.run(append, { keys: { log }, args: { entry: 'c' } })).toBe(2);
    await expect(
      points.run(limiter, { keys: { counter: log }, args: { limit: 1, windowMs: 1, cost: 1 } }),
    ).rejects.toThrow(/forFeature/);
  });

  it('serves two apps in one process, whose ends do not touch each other', async () => {
    const client = quiet(new Redis(redisUrl()));
    const make = (): Promise<INestApplicationContext> =>
      boot(ScriptRegistryModule.forRoot({ client, prefix: uniquePrefix() }), ScriptRegistryModule.forFeature([append]));
    const [one, two] = [await make(), await make()];
    const run = (app: INestApplicationContext): Promise<number> => {
      const registry = app.get(ScriptRegistry);
      return registry.run(append, {
        keys: { log: registry.keySpace('test').tag('x').key('log') },
        args: { entry: 'a' },
      });
    };
    expect([await run(one), await run(two)]).toEqual([1, 1]);
    await one.close();
    await expect(run(one)).rejects.toThrow(/closed/);
    expect(await run(two)).toBe(2);
    await two.close();
    // The client was handed in: it is neither quit nor listened to any more.
    expect(client.status).toBe('ready');
    expect([client.listenerCount('ready'), client.listenerCount('close'), client.listenerCount('end')]).toEqual([
      0, 0, 0,
    ]);
    client.disconnect();
  });

  it('refuses to guess a client', async () => {
    await expect(boot(ScriptRegistryModule.forRoot({}))).rejects.toThrow(
      /url, connection and client are undefined.*RedisModule or ClusterModule/,
    );
    const both = boot(
      RedisModule.forRoot({ config: { url: redisUrl(), onClientCreated } }),
      ClusterModule.forRoot({ config: { nodes: sharedClusterNodes(), onClientCreated } }),
      ScriptRegistryModule.forRoot({}),
    );
    await expect(both).rejects.toThrow(/both imported/);
    const named = boot(
      RedisModule.forRoot({ config: { namespace: 'other', url: redisUrl(), onClientCreated } }),
      ScriptRegistryModule.forRoot({}),
    );
    await expect(named).rejects.toThrow(InvalidOptionError);
  });

  it('refuses two default registries, and a factory that gives no options', async () => {
    const redis = RedisModule.forRoot({ config: { url: redisUrl(), onClientCreated } });
    await expect(
      boot(redis, ScriptRegistryModule.forRoot({}), ScriptRegistryModule.forRoot({ prefix: 'b' })),
    ).rejects.toThrow(
      /^ScriptRegistryModule: forRoot\(\) or forRootAsync\(\) is imported 2 times\. Import it once for the ScriptRegistry "default"/,
    );
    const nothing = ScriptRegistryModule.forRootAsync({ useFactory: () => undefined as never });
    await expect(boot(redis, nothing)).rejects.toThrow(/factory of forRootAsync must return one/);
  });

  it('refuses two scripts of one name', async () => {
    const twin = defineScript({
      name: 'test.append',
      keys: ['k'],
      args: {},
      source: 'return KEYS[1]',
      reply: (raw: string) => raw,
    });
    await expect(
      boot(
        RedisModule.forRoot({ config: { url: redisUrl(), onClientCreated } }),
        ScriptRegistryModule.forRoot({}),
        ScriptRegistryModule.forFeature([append]),
        ScriptRegistryModule.forFeature([twin]),
      ),
    ).rejects.toThrow(expect.objectContaining({ code: 'SCRIPT_CONFLICT' }) as Error);
  });
});

describe('boot without Redis', () => {
  it('best-effort boots, is down, and heals when Redis comes', async () => {
    const port = await freePort();
    const app = await boot(
      RedisModule.forRoot({ ...silent, config: { port, host: '127.0.0.1', retryStrategy: () => 50 } }),
      ScriptRegistryModule.forRoot({ prefix: 'x', deadlineMs: 300 }),
      ScriptRegistryModule.forFeature([append]),
    );
    const health = app.get(ScriptRegistryHealthIndicator);
    expect(await health.check('scripts')).toMatchObject({
      scripts: { status: 'down', problems: [expect.stringContaining('not connected')] },
    });
    const registry = app.get(ScriptRegistry);
    const call = { keys: { log: 'x{1}' }, args: { entry: 'a' } };
    await expect(registry.run(append, call)).rejects.toMatchObject({ code: 'NOT_SENT' });
    const held = registry.run(append, call, { deadlineMs: 10_000 });
    const server = await startRedis({ port });
    try {
      expect(await held).toBe(1);
      await eventually(async () => expect(await health.check('scripts')).toEqual({ scripts: { status: 'up' } }));
    } finally {
      await closeApps();
      await server.stop();
    }
  });

  it('required fails with a clear error, on a single server and on a Cluster of which one master is gone', async () => {
    const port = await freePort();
    const options = { preload: 'required' as const };
    const timeout = jest.replaceProperty(FIXED, 'preloadTimeoutMs', 300);
    const single = boot(
      RedisModule.forRoot({ ...silent, config: { port, host: '127.0.0.1', onClientCreated } }),
      ScriptRegistryModule.forRoot(options),
      ScriptRegistryModule.forFeature([append]),
    );
    await expect(single).rejects.toThrow(PreloadFailedError);
    await expect(single).rejects.toThrow(/could not be loaded .*not connected.*Redis 7\.0/);

    const cluster = await startCluster({ replicas: 0, args: ['--cluster-require-full-coverage', 'no'] });
    try {
      await (await cluster.masters())[0]?.kill();
      const some = boot(
        ClusterModule.forRoot({ ...silent, config: { nodes: cluster.startupNodes, onClientCreated } }),
        ScriptRegistryModule.forRoot(options),
        ScriptRegistryModule.forFeature([append]),
      );
      await expect(some).rejects.toThrow(PreloadFailedError);
    } finally {
      timeout.restore();
      await closeApps();
      await cluster.stop();
    }
  });

  it('names what Redis says when a script does not compile', async () => {
    const broken = defineScript({
      name: 'test.broken',
      keys: ['k'],
      args: {},
      source: 'return return',
      reply: (raw: string) => raw,
    });
    await expect(
      boot(
        RedisModule.forRoot({ config: { url: redisUrl(), onClientCreated } }),
        ScriptRegistryModule.forRoot({ preload: 'required' }),
        ScriptRegistryModule.forFeature([broken]),
      ),
    ).rejects.toThrow(/Error compiling script/);
  });
});

describe('health', () => {
  it('is red when scripts are missing although PING answers, and works with terminus', async () => {
    const server = await startRedis();
    try {
      const app = await boot(
        RedisModule.forRoot({ ...silent, config: { port: server.port, host: server.host } }),
        TerminusModule.forRoot({ logger: false }),
        ScriptRegistryModule.forRoot({}),
        ScriptRegistryModule.forFeature([append]),
      );
      const indicator = app.get(ScriptRegistryHealthIndicator);
      const terminus = await app.resolve(HealthCheckService);
      expect(await terminus.check([() => indicator.check('scripts', 10_000)])).toMatchObject({ status: 'ok' });
      const client = new Redis(server.port);
      // Again, if the registry has just looked at its nodes and loaded them.
      await eventually(async () => {
        await client.script('FLUSH');
        expect(await indicator.check('scripts', 10_000)).toMatchObject({
          scripts: {
            status: 'down',
            problems: [expect.stringMatching(/replies to PING, but 2 of 2 scripts are not loaded/)],
          },
        });
      });
      expect(await client.ping()).toBe('PONG');
      await expect(terminus.check([() => indicator.check('scripts')])).rejects.toMatchObject({
        response: { status: 'error' },
      });
      client.disconnect();
      server.pause();
      expect(await indicator.check('scripts', 100)).toMatchObject({ scripts: { status: 'down' } });
      server.resume();
    } finally {
      await closeApps();
      await server.stop();
    }
  });
});
