import type { InjectionToken } from '@nestjs/common';
import { Checks } from '../../../internal/src';
import type { RedisSource } from '../script-registry.options';
import type { IoredisClient } from './ioredis-connection';

/** The part that RedisService and ClusterService of `@liaoliaots/nestjs-redis` have in common. */
export interface ClientService<Client> {
  getOrNil(namespace?: string | symbol): Client | null;
}

type Package = Partial<Record<'RedisService' | 'ClusterService', InjectionToken>>;

/** Loads the package. It is an optional peer: apps that use another client need not install it. */
function loadPackage(): Package {
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- an import would make the peer mandatory
    return require('@liaoliaots/nestjs-redis') as Package;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return {};
    throw error;
  }
}

/** Returns the tokens of RedisService and ClusterService; without the package, names that no module provides. */
export function clientServiceTokens(): readonly InjectionToken[] {
  const { RedisService, ClusterService } = loadPackage();
  return [RedisService ?? 'luanest:no-redis-service', ClusterService ?? 'luanest:no-cluster-service'];
}

const checks = new Checks('ScriptRegistryModule');

/**
 * Returns the client that `source` names.
 *
 * @throws InvalidOptionError if there is no such client, or if both modules are imported and `source` names neither
 */
export function clientFrom(
  source: RedisSource | undefined,
  redis: ClientService<IoredisClient> | undefined,
  cluster: ClientService<IoredisClient> | undefined,
): IoredisClient {
  const module = source?.module ?? (redis && cluster ? undefined : cluster ? 'cluster' : 'redis');
  if (module === undefined) {
    throw checks.error(
      "RedisModule and ClusterModule are both imported. Set source: { module: 'redis' } or 'cluster'.",
    );
  }
  const service = module === 'redis' ? redis : cluster;
  const moduleName = module === 'redis' ? 'RedisModule' : 'ClusterModule';
  if (!service) {
    throw checks.error(
      `There is no client of ${moduleName}. Import ${moduleName}.forRoot(...) of @liaoliaots/nestjs-redis as a global module, ` +
        'or set `client`, `url` or `connection`, and no `source`.',
    );
  }
  const client = source?.namespace === undefined ? service.getOrNil() : service.getOrNil(source.namespace);
  if (!client) {
    throw checks.error(
      `${moduleName} has no client in namespace ${String(source?.namespace ?? 'default')}. ` +
        'Set source.namespace to the namespace of one of its clients.',
    );
  }
  return client;
}
