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

/** Settings that Nest needs before the options are resolved. In `forRootAsync`, they are set next to `useFactory`, not returned by it. */
export interface ModuleExtras {
  /** True: every module of the app can inject the exports of this module, without importing it. Default true. */
  readonly isGlobal?: boolean;
  /** Name of the ScriptRegistry that runs the scripts. Default: the ScriptRegistry without a name. */
  readonly registry?: string;
}

/** Base class of a module. If each option has a default, `forRoot` can be called without options. */
export interface LuanestModuleClass<Options extends object, Extras extends object> {
  new (): object;
  /**
   * Returns the module for the imports of the root module. If a value is invalid, the boot of the app fails with InvalidOptionError. The
   * boot also fails if the module is imported a second time, unless it may be imported several times.
   *
   * @throws InvalidOptionError if the options are not an object, or `isGlobal` or `registry` is invalid
   */
  forRoot(
    ...options: object extends Options ? [options?: Options & Extras] : [options: Options & Extras]
  ): DynamicModule;
  /**
   * Returns the module for the imports of the root module. A factory or a class of the app returns the options. Settings such as
   * `registry` and `isGlobal` are set next to the factory. If a value is invalid, the boot of the app fails with InvalidOptionError.
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
  /** Injection token of the resolved options. Default: a new symbol. */
  readonly optionsToken?: InjectionToken<Resolved>;
  /** Default of the setting `isGlobal`. Default true. */
  readonly isGlobal?: boolean;
  /** Further settings of this module that Nest needs before the options are resolved, with their defaults. */
  readonly extras?: { readonly [Name in Exclude<keyof Extras, keyof ModuleExtras>]: Extras[Name] };
  /** Checks the options and fills in the defaults. Called when the app boots. */
  readonly resolve: (options: Options) => Resolved;
  /**
   * Returns a token that only one module of an app may provide. Two such modules would use the same Redis keys, and would not know of
   * each other. Default: the token of the resolved options. Null: the module may be imported any number of times.
   */
  readonly once?: ((extras: Extras) => InjectionToken) | null;
  /**
   * Returns the last sentence of the error for a second import, which says what to do. Default: import the module once, in the root
   * module.
   */
  readonly onceRemedy?: (extras: Extras) => string;
  /** Returns the providers, exports, imports and controllers of the module. @param options token of the resolved options */
  readonly parts: (extras: Extras, options: InjectionToken<Resolved>) => Parts;
}

const IMPORT_ONCE =
  'Import it once, in the root module, without isGlobal: false. Every other module can then inject what it exports';

/**
 * Creates the base class of a module, with `forRoot` and `forRootAsync`. The options are checked and resolved when the app boots. The
 * boot fails if several modules provide the token that `once` returns.
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
        // Nest creates all providers that inject the options after this check. See DECISIONS.md: options-resolved-once
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
 * Holder of a ScriptRegistry, as the value of a provider. If a provider returned the ScriptRegistry itself, Nest would run its lifecycle
 * hooks once more.
 */
export class NeededRegistry<Registry = unknown> {
  constructor(readonly registry: Registry) {}
}

/**
 * Returns the token of the NeededRegistry that `ScriptRegistryModule.forFeature` provides. If the app has no such ScriptRegistry, the
 * factory of this provider throws an error that says what to import. Services inject this token, so that users get this error, not that
 * of Nest about a missing dependency.
 * See DECISIONS.md: one-sentence-for-a-missing-module
 *
 * @param name the name that `ScriptRegistryModule.forRoot` got; undefined for the default ScriptRegistry
 */
export function neededRegistry(name?: string): InjectionToken {
  return `luanest:needed-script-registry${name === undefined ? '' : `:${name}`}`;
}

/**
 * Returns a provider that creates an instance of a class. The constructor gets the providers whose tokens are in `inject`. For a
 * NeededRegistry, it gets the ScriptRegistry.
 */
export function constructed<T, Arguments extends unknown[]>(
  type: new (...args: Arguments) => T,
  ...inject: NonNullable<FactoryProvider['inject']>
): FactoryProvider<T> {
  const given = (arg: unknown): unknown => (arg instanceof NeededRegistry ? arg.registry : arg);
  return { provide: type, inject, useFactory: (...args: unknown[]) => new type(...(args.map(given) as Arguments)) };
}
