import { Module, type DynamicModule } from '@nestjs/common';
import { type AnyClient, connectClient } from './connection/connect';
import type { IoredisClient } from './connection/ioredis-connection';
import { clientFrom, clientServiceTokens, type ClientService } from './connection/nestjs-redis';
import { ownClient } from './connection/own-client';
import { REPLACE_REDIS, type ReplaceRedis } from './connection/redis-replacement';
import type { ScriptDefinition } from './script-definition';
import { getScriptRegistryToken } from './script-registry.decorator';
import { ScriptRegistryHealthIndicator } from './script-registry.health';
import { constructed, defineLuanestModule, NeededRegistry, neededRegistry, SetupError } from '../../internal/src';
import {
  resolveOptions,
  type ResolvedScriptRegistryOptions,
  type ScriptRegistryModuleOptions,
} from './script-registry.options';
import { ScriptRegistry } from './script-registry.service';

/** Settings of ScriptRegistryModule that Nest needs before it knows the options. */
interface ScriptRegistryModuleExtras {
  /** Name of an additional ScriptRegistry, such as for a second Redis. Without a name, it is the default ScriptRegistry of the app. */
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
    const isDefault = name === undefined;
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
              return new ScriptRegistry(known, replaced.connection, limited, replaced);
            }
            const own = ownClient(known, resolved);
            return new ScriptRegistry(known, connectClient(own?.client ?? clientOfApp()), resolved, own);
          },
        },
        ...(isDefault ? [constructed(ScriptRegistryHealthIndicator, registry)] : []),
      ],
      exports: [registry, ...(isDefault ? [ScriptRegistryHealthIndicator] : [])],
    };
  },
});

/** Returns the error for an app that imports scripts, its own or those of a lib, but does not import the ScriptRegistry that runs them. */
function noRegistry(scripts: readonly ScriptDefinition[], name?: string): SetupError {
  const [first, ...others] = scripts.map((script) => script.name);
  const what = first === undefined ? 'scripts' : `${first}${others.length > 0 ? ` and ${others.length} more` : ''}`;
  const options = name === undefined ? "url: 'redis://127.0.0.1:6379'" : `name: ${JSON.stringify(name)}, url: ...`;
  return new SetupError(
    `ScriptRegistryModule: There is no ${name === undefined ? '' : `${JSON.stringify(name)} `}ScriptRegistry to run ${what}. Add ` +
      `ScriptRegistryModule.forRoot({ ${options} }) to the imports of the root module.`,
  );
}

/**
 * Module that provides a ScriptRegistry. To add another ScriptRegistry, such as for a second Redis, import the module again with a
 * `name`. Other modules register their scripts with `forFeature`.
 */
@Module({})
export class ScriptRegistryModule extends ScriptRegistryModuleBase {
  /**
   * Registers scripts, so that they are loaded when the app initialises.
   *
   * @param scripts scripts that `defineScript` returned
   * @param name name of the ScriptRegistry that `forRoot` got; default: the default ScriptRegistry
   */
  static forFeature(scripts: readonly ScriptDefinition[], name?: string): DynamicModule {
    const needed = neededRegistry(name);
    return {
      module: ScriptRegistryModule,
      providers: [
        {
          provide: needed,
          inject: [{ token: getScriptRegistryToken(name), optional: true }],
          useFactory: (registry?: ScriptRegistry): NeededRegistry => {
            if (registry === undefined) throw noRegistry(scripts, name);
            registry.register(scripts);
            return new NeededRegistry(registry);
          },
        },
      ],
      exports: [needed],
    };
  }
}
