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

/** Settings that must be known before the options are. */
interface ScriptRegistryModuleExtras {
  /** Name of the registry, if the app has several. Default: the default one. */
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

/** Gives the app one ScriptRegistry, or several by name, and lets other modules register their scripts. */
@Module({})
export class ScriptRegistryModule extends ScriptRegistryModuleBase {
  /**
   * Registers a module's scripts, so that they are loaded when the app initialises.
   *
   * @param scripts made by `defineScript`
   * @param name of the registry; default: the default one
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
