import type { ClusterOptions, RedisOptions } from 'ioredis';

/** A single Redis, or a Cluster, as the modules of `@liaoliaots/nestjs-redis` take it. */
export type RedisSource =
  | (RedisOptions & { readonly url?: string })
  | (ClusterOptions & { readonly nodes: { readonly host: string; readonly port: number }[] });

/** Pause before an attempt to connect, ms; at most 500, so that the client soon finds a restarted server. */
const retryStrategy = (attempt: number): number => Math.min(attempt * 50, 500);

/** One server, by URL or by address. */
export function singleRedis(where: RedisOptions & { readonly url?: string }): RedisSource {
  return { ...where, retryStrategy };
}

/** A Cluster, by URLs of some of its nodes. User, password and TLS are those of the first URL. */
export function redisCluster(urls: readonly string[]): RedisSource {
  const parsed = urls.map((url) => new URL(url));
  const [{ username, password, protocol }] = parsed as [URL];
  return {
    nodes: parsed.map(({ hostname, port }) => ({ host: hostname, port: Number(port) || 6_379 })),
    clusterRetryStrategy: retryStrategy,
    redisOptions: {
      ...(username !== '' && { username: decodeURIComponent(username) }),
      ...(password !== '' && { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss:' && { tls: {} }),
    },
  };
}
