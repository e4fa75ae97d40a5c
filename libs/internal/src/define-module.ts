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

/**
 * Settings that Nest needs before it knows the options. With `forRootAsync`, write them next to `useFactory`; the factory cannot return
 * them.
 */
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
   * Returns the module for the imports of the root module. A factory or a class of the app provides the options. Write `registry` and
   * `isGlobal` next to the factory. If a value is invalid, the boot of the app fails with InvalidOptionError.
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
  /** Class name of the module. Error messages about its options begin with this name. */
  readonly name: string;
  /** Injection token of the options after the defaults are filled in. Default: a new symbol. */
  readonly optionsToken?: InjectionToken<Resolved>;
  /** Default of the setting `isGlobal`; true if omitted. */
  readonly isGlobal?: boolean;
  /** Defaults of the module's own settings that Nest needs before it knows the options. */
  readonly extras?: { readonly [Name in Exclude<keyof Extras, keyof ModuleExtras>]: Extras[Name] };
  /** Checks the options and fills in the defaults. Called when the app boots. */
  readonly resolve: (options: Options) => Resolved;
  /**
   * Returns a token that marks the module as imported. The boot fails if two modules of an app provide the same token, because both would
   * work on the same Redis keys. Default: one import per app. Null: any number of imports.
   */
  readonly once?: ((extras: Extras) => InjectionToken) | null;
  /** Returns the advice at the end of the error for a second import. Default: import the module once, in the root module. */
  readonly onceRemedy?: (extras: Extras) => string;
  /**
   * Returns what the module adds to the app: providers, exports, imports and controllers. @param options token of the options after the
   * defaults are filled in
   */
  readonly parts: (extras: Extras, options: InjectionToken<Resolved>) => Parts;
}

const IMPORT_ONCE =
  'Import it once, in the root module, without isGlobal: false. Every other module can then inject what it exports';

/**
 * Creates the base class of a module, with `forRoot` and `forRootAsync`. The options are checked when the app boots. The boot also fails if
 * the module is imported more often than `once` allows.
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
        // All providers that inject the options are created after this check, so they only see valid options. See DECISIONS.md:
        // options-resolved-once
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
 * Wraps a ScriptRegistry for dependency injection. If a second provider returned the ScriptRegistry itself, Nest would call its lifecycle
 * hooks twice.
 */
export class NeededRegistry<Registry = unknown> {
  constructor(readonly registry: Registry) {}
}

/**
 * Returns the injection token under which services get their ScriptRegistry. If the app forgot to import ScriptRegistryModule, the provider
 * throws an error that says what to import, instead of Nest's error about an unknown dependency.
 * See DECISIONS.md: one-sentence-for-a-missing-module
 *
 * @param name the name that `ScriptRegistryModule.forRoot` got; undefined for the default ScriptRegistry
 */
export function neededRegistry(name?: string): InjectionToken {
  return `luanest:needed-script-registry${name === undefined ? '' : `:${name}`}`;
}

/**
 * Returns a provider that creates an instance of a class with the providers in `inject` as arguments. A NeededRegistry among them is
 * replaced by the ScriptRegistry that it wraps.
 */
export function constructed<T, Arguments extends unknown[]>(
  type: new (...args: Arguments) => T,
  ...inject: NonNullable<FactoryProvider['inject']>
): FactoryProvider<T> {
  const given = (arg: unknown): unknown => (arg instanceof NeededRegistry ? arg.registry : arg);
  return { provide: type, inject, useFactory: (...args: unknown[]) => new type(...(args.map(given) as Arguments)) };
}
