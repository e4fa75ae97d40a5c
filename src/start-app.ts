import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { compressJson } from './platform/compression';
import { fastifyOptions } from './platform/fastify-options';
import { AppModule } from './app.module';
import type { AppConfig } from './platform/config/config';
import { claimFolder } from './platform/embedded/private-file';
import { EmbeddedRedis } from './platform/embedded/embedded-redis';
import { loadSecrets } from './visitors/identity/secrets';
import { LedgerHost } from './ledger/ledger-host';
import { AppAddress } from './monitoring/nodes/app-address';
import { redisCluster, type RedisSource, singleRedis } from './platform/redis-source';
import { waitForRedis } from './platform/redis-wait';
import { EmbeddedLedgerOpener, PostgresLedgerOpener } from './ledger/ledger-openers';

/** An app that serves. */
export interface RunningApp {
  /** Base URL of the app, without a slash at the end. */
  readonly url: string;
  /**
   * Waits for open requests and, for a limited time, for the payouts in flight. Then closes the ledger. Shuts the embedded Redis
   * down if no other app uses it.
   */
  close(): Promise<void>;
}

/** Time after which a part of the start that is not finished is logged, ms. */
const PATIENCE_MS = 1_000;

type Cleanup = () => Promise<void>;

/**
 * Starts Redis, the ledger and the HTTP server, as configured. If the start fails, stops what was started. A ledger that cannot
 * be opened does not fail the start.
 *
 * @param signal ends the start, as soon as the part that is starting has started; ends the wait for a Redis at once
 */
export async function startApp(
  config: AppConfig,
  signal: AbortSignal = new AbortController().signal,
): Promise<RunningApp> {
  const cleanups: Cleanup[] = [];
  const close = async (): Promise<void> => {
    for (let cleanup = cleanups.pop(); cleanup !== undefined; cleanup = cleanups.pop()) await cleanup();
  };
  try {
    return { url: await startParts(config, cleanups, signal), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Starts the parts. Adds a cleanup as soon as a part runs, so that a later failure stops it. Returns the URL of the app. */
async function startParts(config: AppConfig, cleanups: Cleanup[], signal: AbortSignal): Promise<string> {
  if (!(await claimFolder(config.dataDir))) {
    new Logger('luanest').warn(
      `Other users of this machine may enter ${config.dataDir}. Its files are closed to them; "chmod 700" hides their names, too.`,
    );
  }
  const secrets = await loadSecrets(config);
  const redis = await waitFor('Redis', redisOf(config, cleanups), signal);
  await waitForRedis(redis, new Logger('Redis'), signal);
  const opener =
    config.databaseUrl === undefined
      ? new EmbeddedLedgerOpener(config.dataDir)
      : new PostgresLedgerOpener(config.databaseUrl);
  const host = new LedgerHost(opener, new Logger(LedgerHost.name));
  cleanups.push(() => host.stop());
  await waitFor('the ledger', host.start(), signal);

  const module = AppModule.forRoot({ config, secrets, redis, host });
  const adapter = new FastifyAdapter(fastifyOptions(config));
  compressJson(adapter);
  const app = await NestFactory.create<NestFastifyApplication>(module, adapter, { abortOnError: false });
  cleanups.push(() => app.close());
  await waitFor('the modules of the app', app.listen(config.port, config.host), signal);
  const address = app.getHttpServer().address();
  const url = reachableUrl(config.host, typeof address === 'object' && address !== null ? address.port : config.port);
  app.get(AppAddress).url = url;
  await host.announce(url);
  return url;
}

/** Waits for a part of the start. Logs what is waited for after a second. @throws the reason of the signal, if it has fired by then */
async function waitFor<T>(what: string, part: Promise<T>, signal: AbortSignal): Promise<T> {
  const timer = setTimeout(() => new Logger('luanest').log(`Still starting: waiting for ${what}.`), PATIENCE_MS);
  try {
    return await part;
  } finally {
    clearTimeout(timer);
    signal.throwIfAborted();
  }
}

async function redisOf(config: AppConfig, cleanups: Cleanup[]): Promise<RedisSource> {
  if (config.redisCluster !== undefined) return redisCluster(config.redisCluster);
  if (config.redisUrl !== undefined) return singleRedis({ url: config.redisUrl });
  const redis = await EmbeddedRedis.start(config.dataDir, new Logger(EmbeddedRedis.name));
  cleanups.push(() => redis.stop());
  return singleRedis(redis.endpoint);
}

/** Returns a URL that clients on this machine can connect to: 0.0.0.0 and :: are only for listening. */
function reachableUrl(host: string, port: number): string {
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}
