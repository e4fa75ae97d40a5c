import {
  ConfigurableModuleBuilder,
  Module,
  type DynamicModule,
  type InjectionToken,
  type Provider,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { Cluster, Redis } from 'ioredis';
import { connectIoredis } from './connection/ioredis-connection';
import { clientFrom, clientServiceTokens, type ClientService } from './connection/nestjs-redis';
import { ownClient } from './connection/own-client';
import type { AnyScript } from './define-script';
import { getScriptRegistryHealthToken, getScriptRegistryToken } from './script-registry.decorator';
import { ScriptRegistryHealthIndicator } from './script-registry.health';
import { checkObject, InvalidOptionError } from '../../internal/src';
import { resolveOptions, type ScriptRegistryOptions } from './script-registry.options';
import { ScriptRegistry } from './script-registry.service';

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<ScriptRegistryOptions>({
  moduleName: 'ScriptRegistry',
})
  .setClassMethodName('forRoot')
  .setExtras<{ name?: string }>({ name: undefined }, (definition, { name }) => ({
    ...definition,
    global: true,
    providers: [...(definition.providers ?? []), ...registryProviders(name)],
    exports: [getScriptRegistryToken(name), getScriptRegistryHealthToken(name)],
  }))
  .build();

function registryProviders(name: string | undefined): Provider[] {
  const registry = getScriptRegistryToken(name);
  return [
    {
      provide: registry,
      inject: [
        MODULE_OPTIONS_TOKEN,
        ModulesContainer,
        ...clientServiceTokens().map((token) => ({ token, optional: true })),
      ],
      useFactory: (
        raw: ScriptRegistryOptions,
        modules: ModulesContainer,
        redis?: ClientService<Redis>,
        cluster?: ClientService<Cluster>,
      ) => {
        refuseTwins(modules, registry, name);
        const options = resolveOptions(raw);
        const own = ownClient(name ?? 'default', options);
        const client = own?.client ?? options.client ?? clientFrom(options.source, redis, cluster);
        return new ScriptRegistry(name ?? 'default', connectIoredis(client), options, own?.end);
      },
    },
    {
      provide: getScriptRegistryHealthToken(name),
      inject: [registry],
      useFactory: (instance: ScriptRegistry) => new ScriptRegistryHealthIndicator(instance),
    },
  ];
}

/** Nest would give everybody the registry of the module that comes last, and leave the other one unused. */
function refuseTwins(modules: ModulesContainer, token: InjectionToken, name: string | undefined): void {
  const owners = [...modules.values()].filter(({ providers }) => providers.has(token));
  if (owners.length < 2) return;
  throw new InvalidOptionError(
    `ScriptRegistryModule.forRoot is imported ${owners.length} times for the registry "${name ?? 'default'}". ` +
      `Import it once, or give each a name.`,
  );
}

/** Gives the app one ScriptRegistry, or several by name, and lets other modules register their scripts. */
@Module({})
export class ScriptRegistryModule extends ConfigurableModuleClass {
  /**
   * Makes the module; every option has a default.
   *
   * @throws InvalidOptionError for what is no object; options that cannot work are refused when the app boots
   */
  static override forRoot(options: ScriptRegistryOptions & { name?: string } = {}): DynamicModule {
    return super.forRoot(checkObject('', options));
  }

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
