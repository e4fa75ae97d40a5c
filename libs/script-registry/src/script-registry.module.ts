import { Module, type DynamicModule } from '@nestjs/common';
import type { Cluster, Redis } from 'ioredis';
import { connectIoredis } from './connection/ioredis-connection';
import { clientFrom, clientServiceTokens, type ClientService } from './connection/nestjs-redis';
import { ownClient } from './connection/own-client';
import type { AnyScript } from './define-script';
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
  /** Name of a further registry. Default: none, for the app's default registry. */
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
  onceRemedy: ({ name }) => `Import it once for the registry "${name ?? 'default'}", or give each a name`,
  parts: ({ name }, options) => {
    const registry = getScriptRegistryToken(name);
    const clients = clientServiceTokens().map((token) => ({ token, optional: true }));
    const health = getScriptRegistryHealthToken(name);
    return {
      providers: [
        {
          provide: registry,
          inject: [options, ...clients],
          useFactory: (
            resolved: ResolvedScriptRegistryOptions,
            redis?: ClientService<Redis>,
            cluster?: ClientService<Cluster>,
          ) => {
            const own = ownClient(name ?? 'default', resolved);
            const client = own?.client ?? resolved.client ?? clientFrom(resolved.source, redis, cluster);
            return new ScriptRegistry(name ?? 'default', connectIoredis(client), resolved, own?.end);
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

/** Module that provides the ScriptRegistry, and more of them by name. Other modules register their scripts with it. */
@Module({})
export class ScriptRegistryModule extends ScriptRegistryModuleBase {
  /**
   * Registers scripts, so that they are loaded when the app initialises.
   *
   * @param scripts values of `defineScript`
   * @param name of the registry; default: the default registry
   */
  static forFeature(scripts: readonly AnyScript[], name?: string): DynamicModule {
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
