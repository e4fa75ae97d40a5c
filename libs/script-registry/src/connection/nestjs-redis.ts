import type { InjectionToken } from '@nestjs/common';
import { Checks } from '../../../internal/src';
import type { IoredisClient } from './ioredis-connection';

export interface ClientService<Client> {
  getOrNil(namespace?: string | symbol): Client | null;
}

type Package = Partial<Record<'RedisService' | 'ClusterService', InjectionToken>>;

/** Loads `@liaoliaots/nestjs-redis`, which an app need not install. Returns an empty object if the package is missing. */
function loadPackage(): Package {
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- an import would make the peer mandatory
    return require('@liaoliaots/nestjs-redis') as Package;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return {};
    throw error;
  }
}

/**
 * Returns the injection tokens of RedisService and ClusterService. If the package is not installed, returns tokens that no module provides.
 */
export function clientServiceTokens(): readonly InjectionToken[] {
  const { RedisService, ClusterService } = loadPackage();
  return [RedisService ?? 'luanest:no-redis-service', ClusterService ?? 'luanest:no-cluster-service'];
}

const checks = new Checks('ScriptRegistryModule');

/**
 * Returns the default client of the RedisModule or ClusterModule that the app imports.
 *
 * @throws InvalidOptionError if the app imports neither module or both, or if the module has no default client
 */
export function clientFrom(
  redis: ClientService<IoredisClient> | undefined,
  cluster: ClientService<IoredisClient> | undefined,
): IoredisClient {
  const another =
    'Set `client` to one of their clients: `forRootAsync({ inject: [RedisService], useFactory: (redis) => ({ client: redis.getOrThrow(name) }) })`.';
  if (redis && cluster) {
    throw checks.error(
      `RedisModule and ClusterModule of @liaoliaots/nestjs-redis are both imported, so it is not clear which Redis to use. ${another}`,
    );
  }
  const service = redis ?? cluster;
  if (!service) {
    throw checks.error(
      "url, connection and client are undefined. Set one of them, such as url: 'redis://127.0.0.1:6379'. If the value comes from an " +
        'environment variable, check that the variable is set. An app that has RedisModule or ClusterModule of ' +
        '@liaoliaots/nestjs-redis as a global module needs none of the three.',
    );
  }
  const client = service.getOrNil();
  if (client) return client;
  throw checks.error(
    `${redis ? 'RedisModule' : 'ClusterModule'} of @liaoliaots/nestjs-redis has no default client. ${another}`,
  );
}
