import { Module, type DynamicModule } from '@nestjs/common';
import { type AnyClient, connectClient } from './connection/connect';
import type { IoredisClient } from './connection/ioredis-connection';
import { clientFrom, clientServiceTokens, type ClientService } from './connection/nestjs-redis';
import { ownClient } from './connection/own-client';
import { REPLACE_REDIS, type ReplaceRedis } from './connection/redis-replacement';
import type { ScriptDefinition } from './script-definition';
import { getScriptRegistryHealthToken, getScriptRegistryToken } from './script-registry.decorator';
import { ScriptRegistryHealthIndicator } from './script-registry.health';
import { defineLuanestModule } from '../../internal/src';
import {
  resolveOptions,
  type ResolvedScriptRegistryOptions,
  type ScriptRegistryModuleOptions,
} from './script-registry.options';
import { ScriptRegistry } from './script-registry.service';

/** Settings that Nest needs before the options are resolved. */
interface ScriptRegistryModuleExtras {
  /** Name of a further ScriptRegistry of the app. Default: none, for the app's default ScriptRegistry. */
  readonly name?: string;
}

const ScriptRegistryModuleBase = defineLuanestModule<
  ScriptRegistryModuleOptions,
  ScriptRegistryModuleExtras,
  ResolvedScriptRegistryOptions
>({
  name: 'ScriptRegistryModule',
  extras: { name: undefined },
  resolve: resolveOptions,
  once: ({ name }) => getScriptRegistryToken(name),
  onceRemedy: ({ name }) =>
    `Import it once for the ScriptRegistry "${name ?? 'default'}", or give each import a different \`name\``,
  parts: ({ name }, options) => {
    const registry = getScriptRegistryToken(name);
    const clients = clientServiceTokens().map((token) => ({ token, optional: true }));
    const health = getScriptRegistryHealthToken(name);
    return {
      providers: [
        {
          provide: registry,
          inject: [options, { token: REPLACE_REDIS, optional: true }, ...clients],
          useFactory: async (
            resolved: ResolvedScriptRegistryOptions,
            replace?: ReplaceRedis,
            redis?: ClientService<IoredisClient>,
            cluster?: ClientService<IoredisClient>,
          ) => {
            const known = name ?? 'default';
            const clientOfApp = (): AnyClient => resolved.client ?? clientFrom(redis, cluster);
            if (replace) {
              const isOwn = resolved.url !== undefined || resolved.connection !== undefined;
              const isMissing = !resolved.client && !redis && !cluster;
              const replaced = await replace(known, () => (isOwn || isMissing ? undefined : clientOfApp()));
              const limited: ResolvedScriptRegistryOptions = {
                ...resolved,
                get deadlineMs() {
                  return replaced.deadlineMs(resolved.deadlineMs);
                },
              };
              return new ScriptRegistry(known, replaced.connection, limited, replaced.end);
            }
            const own = ownClient(known, resolved);
            return new ScriptRegistry(known, connectClient(own?.client ?? clientOfApp()), resolved, own?.end);
          },
        },
        {
          provide: health,
          inject: [registry],
          useFactory: (instance: ScriptRegistry) => new ScriptRegistryHealthIndicator(instance),
        },
      ],
      exports: [registry, health],
    };
  },
});

/**
 * Module that provides a ScriptRegistry. Import it again with a `name` for a further ScriptRegistry, such as for a second Redis.
 * Other modules register their scripts with `forFeature`.
 */
@Module({})
export class ScriptRegistryModule extends ScriptRegistryModuleBase {
  /**
   * Registers scripts, so that they are loaded when the app initialises.
   *
   * @param scripts values of `defineScript`
   * @param name of the ScriptRegistry, as given to `forRoot`; default: the default ScriptRegistry
   */
  static forFeature(scripts: readonly ScriptDefinition[], name?: string): DynamicModule {
    return {
      module: ScriptRegistryModule,
      providers: [
        {
          provide: Symbol('luanest:registered-scripts'),
          inject: [getScriptRegistryToken(name)],
          useFactory: (registry: ScriptRegistry) => registry.register(scripts) ?? scripts,
        },
      ],
    };
  }
}
