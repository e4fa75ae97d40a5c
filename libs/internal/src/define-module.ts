import {
  ConfigurableModuleBuilder,
  type ConfigurableModuleAsyncOptions,
  type DynamicModule,
  type FactoryProvider,
  type InjectionToken,
  type ModuleMetadata,
  type Provider,
  type Type,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { Checks } from './checks';
import { timesProvided } from './handlers';

/** Settings that Nest needs before the options are resolved. `forRootAsync` takes them next to the factory. */
export interface ModuleExtras {
  /** True: every module of the app can inject what this module exports. Default true. */
  readonly isGlobal?: boolean;
  /** Name of the ScriptRegistry that runs the scripts. Default: the ScriptRegistry without a name. */
  readonly registry?: string;
}

/** Base class of a module. `forRoot` can be called without options if each option has a default. */
export interface LuanestModuleClass<Options extends object, Extras extends object> {
  new (): object;
  /**
   * Makes the module, for the imports of the root module. Invalid values make the boot of the app fail with InvalidOptionError.
   * So does the result of a second `forRoot` or `forRootAsync`, unless the module may be imported several times.
   *
   * @throws InvalidOptionError if the options are not an object, or `isGlobal` or `registry` is invalid
   */
  forRoot(
    ...options: object extends Options ? [options?: Options & Extras] : [options: Options & Extras]
  ): DynamicModule;
  /**
   * Makes the module from options that a factory or a class of the app returns. Settings such as `registry` and `isGlobal` are
   * given next to the factory. Invalid values make the boot of the app fail with InvalidOptionError.
   *
   * @throws InvalidOptionError if `isGlobal` or `registry` is invalid
   */
  forRootAsync(options: ConfigurableModuleAsyncOptions<Options, 'create'> & Partial<Extras>): DynamicModule;
}

interface Parts {
  readonly imports?: NonNullable<ModuleMetadata['imports']>;
  readonly controllers?: readonly Type[];
  readonly providers: readonly Provider[];
  readonly exports: readonly InjectionToken[];
}

export interface ModuleDefinition<Options extends object, Extras extends object, Resolved> {
  /** Name of the module's class. Errors of its options begin with this name. */
  readonly name: string;
  /** Token of the resolved options. Default: a symbol. */
  readonly optionsToken?: InjectionToken<Resolved>;
  /** Default of the setting `isGlobal`. Default true. */
  readonly isGlobal?: boolean;
  /** Further settings of this module that Nest needs before the options are resolved, with their defaults. */
  readonly extras?: { readonly [Name in Exclude<keyof Extras, keyof ModuleExtras>]: Extras[Name] };
  /** Checks the options and fills in the defaults; runs when the app boots. */
  readonly resolve: (options: Options) => Resolved;
  /**
   * Returns a token that only one module of an app may provide, because two would use the same Redis keys without knowing of each
   * other. Default: the token of the resolved options. Null: the module may be imported any number of times.
   */
  readonly once?: ((extras: Extras) => InjectionToken) | null;
  /** Returns the end of the error for a second import: what to do. Default: import it once, in the root module. */
  readonly onceRemedy?: (extras: Extras) => string;
  /** Makes the providers and exports of the module. @param options token of the resolved options */
  readonly parts: (extras: Extras, options: InjectionToken<Resolved>) => Parts;
}

const IMPORT_ONCE =
  'Import it once, in the root module, without isGlobal: false. Every other module can then inject what it exports';

/**
 * Makes the base class of a module with `forRoot` and `forRootAsync`. Options are checked and resolved when the app boots. A second
 * module that provides the token of `once` is refused.
 *
 * @returns the class to extend
 */
export function defineLuanestModule<Options extends object, Extras extends object = ModuleExtras, Resolved = Options>(
  definition: ModuleDefinition<Options, Extras, Resolved>,
): LuanestModuleClass<Options, Extras> {
  const { name, resolve } = definition;
  const checks = new Checks(name);
  const raw = Symbol(`luanest:${name}-raw-options`);
  const token = definition.optionsToken ?? Symbol(`luanest:${name}-options`);
  const isGlobal = definition.isGlobal ?? true;
  const defaults = { isGlobal, registry: undefined, ...definition.extras };
  const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<Options>({ optionsInjectionToken: raw })
    .setClassMethodName('forRoot')
    .setExtras(defaults as ModuleExtras & Extras, (dynamic, extras) => {
      if (extras.registry !== undefined) {
        checks.text('registry', extras.registry, /^[^]+$/, 'the name of a ScriptRegistry');
      }
      const { imports = [], providers, ...parts } = definition.parts(extras, token);
      const once = definition.once === undefined ? token : definition.once?.(extras);
      const options: FactoryProvider<Resolved> = {
        provide: token,
        inject: [raw, ModulesContainer],
        // All providers that inject the options are made after this check. See DECISIONS.md: options-resolved-once
        useFactory: (given: Options, modules: ModulesContainer) => {
          const times = once === undefined ? 1 : timesProvided(modules, once);
          if (times > 1) {
            throw checks.error(
              `forRoot() or forRootAsync() is imported ${times} times. ${definition.onceRemedy?.(extras) ?? IMPORT_ONCE}.`,
            );
          }
          return resolve(objectOf(checks, given));
        },
      };
      return {
        ...dynamic,
        ...(parts as Pick<DynamicModule, 'controllers' | 'exports'>),
        global: checks.flag('isGlobal', extras.isGlobal ?? isGlobal),
        imports: [...(dynamic.imports ?? []), ...imports],
        providers: [...(dynamic.providers ?? []), options, ...providers],
      };
    })
    .build();
  class LuanestModule extends ConfigurableModuleClass {
    static override forRoot(options: Options & Partial<ModuleExtras & Extras> = {} as never): DynamicModule {
      return super.forRoot(objectOf(checks, options));
    }
  }
  return LuanestModule;
}

function objectOf<T>(checks: Checks, options: T): T {
  return checks.object('', options, 'an object; a factory of forRootAsync must return one');
}

/**
 * A ScriptRegistry that the app has. In a holder, because Nest would run the lifecycle hooks of a ScriptRegistry for each provider that
 * returns it.
 */
export class NeededRegistry<Registry = unknown> {
  constructor(readonly registry: Registry) {}
}

/**
 * Returns the token of the NeededRegistry that `ScriptRegistryModule.forFeature` provides. Its factory throws if the app has no such
 * ScriptRegistry. So what depends on this token is not created, and Nest does not report the dependency itself.
 * See DECISIONS.md: one-sentence-for-a-missing-module
 *
 * @param name as given to `ScriptRegistryModule.forRoot`; undefined for the default ScriptRegistry
 */
export function neededRegistry(name?: string): InjectionToken {
  return `luanest:needed-script-registry${name === undefined ? '' : `:${name}`}`;
}

/** Returns a provider of a class. Its constructor gets the providers that `inject` names; for a NeededRegistry, the ScriptRegistry. */
export function constructed<T, Arguments extends unknown[]>(
  type: new (...args: Arguments) => T,
  ...inject: NonNullable<FactoryProvider['inject']>
): FactoryProvider<T> {
  const given = (arg: unknown): unknown => (arg instanceof NeededRegistry ? arg.registry : arg);
  return { provide: type, inject, useFactory: (...args: unknown[]) => new type(...(args.map(given) as Arguments)) };
}
