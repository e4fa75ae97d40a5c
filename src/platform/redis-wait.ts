import { Redis, type RedisOptions } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisSource } from './redis-source';

const EVERY_MS = 500;
const ANSWER_MS = 2_000;
/** Time after which a Redis that does not answer is logged, ms. */
const SILENT_MS = 1_000;
/** Error replies for a missing, wrong or unexpected password, a wrong user, or missing permissions. Waiting does not help. */
const REFUSED = /^(NOAUTH|WRONGPASS|NOPERM|ERR AUTH|ERR invalid password)/;

interface WaitLog {
  log(message: string): void;
  warn(message: string): void;
}

/**
 * Waits until Redis answers. With a Cluster, waits until its state is ok and each master answers. So an app that is
 * started while Redis is unavailable starts to serve when Redis is back, and a supervisor does not restart the app in a loop.
 *
 * @param signal ends the wait: the promise rejects with an `AbortError`
 * @throws {Error} the error reply of Redis, if it refuses the user, the password or the command; with a Cluster, the last one
 */
export async function waitForRedis(source: RedisSource, logger: WaitLog, signal: AbortSignal): Promise<void> {
  let waited = false;
  const say = (reason: string): void => {
    if (!waited) logger.warn(`${nameOf(source)} is not ready (${reason}). The app starts when Redis is ready.`);
    waited = true;
  };
  // An attempt may take seconds until it fails, and one for each node of a Cluster.
  const silent = setTimeout(() => say(`no answer for ${SILENT_MS / 1_000} s`), SILENT_MS);
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  try {
    for (;;) {
      signal.throwIfAborted();
      const reason = await Promise.race([failureOf(source), aborted]);
      if (reason === undefined) break;
      say(reason);
      await sleep(EVERY_MS, undefined, { signal });
    }
    if (waited) logger.log('Redis is ready');
  } finally {
    clearTimeout(silent);
  }
}

/** Returns why Redis is not ready, in words; undefined if it is ready. @throws {Error} as `waitForRedis` */
async function failureOf(source: RedisSource): Promise<string | undefined> {
  try {
    await ('nodes' in source ? probeCluster(source) : probe(source, (client) => client.ping()));
    return undefined;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (REFUSED.test(reason)) throw error;
    return reason;
  }
}

/** Returns the addresses of a source, without user and password. */
function nameOf(source: RedisSource): string {
  if ('nodes' in source) return `Redis at ${source.nodes.map(({ host, port }) => `${host}:${port}`).join(', ')}`;
  const { url, host = '127.0.0.1', port = 6_379 } = source;
  return `Redis at ${url === undefined ? `${host}:${port}` : new URL(url).host}`;
}

async function probeCluster(source: Extract<RedisSource, { nodes: unknown }>): Promise<void> {
  const options = source.redisOptions ?? {};
  let failure: unknown = new Error('REDIS_CLUSTER has no address');
  for (const node of source.nodes) {
    try {
      const masters = await probe({ ...options, ...node }, mastersOf);
      await Promise.all(masters.map((master) => probe({ ...options, ...master }, (client) => client.ping())));
      return;
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/** Returns the masters of the Cluster. @throws {Error} while the state of the Cluster is not ok, as when slots are not served */
async function mastersOf(client: Redis): Promise<{ readonly host: string; readonly port: number }[]> {
  const info = String(await client.call('CLUSTER', 'INFO'));
  if (!info.includes('cluster_state:ok')) throw new Error('the state of the Cluster is not ok');
  const slots = (await client.call('CLUSTER', 'SLOTS')) as [number, number, [string, number]][];
  const masters = new Map(slots.map(([, , [host, port]]) => [`${host}:${port}`, { host, port }]));
  return [...masters.values()];
}

async function probe<T>(
  options: RedisOptions & { readonly url?: string },
  ask: (client: Redis) => Promise<T>,
): Promise<T> {
  const { url, ...rest } = options;
  const once = {
    ...rest,
    lazyConnect: true,
    connectTimeout: ANSWER_MS,
    commandTimeout: ANSWER_MS,
    retryStrategy: null,
  };
  const client = url === undefined ? new Redis(once) : new Redis(url, once);
  let cause: unknown;
  client.on('error', (error) => (cause = error));
  try {
    await client.connect();
    return await ask(client);
  } catch (error) {
    throw cause ?? error;
  } finally {
    client.disconnect();
  }
}
