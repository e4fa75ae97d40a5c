import { ConfigurableModuleBuilder, Module, type DynamicModule } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, MetadataScanner } from '@nestjs/core';
import { getScriptRegistryToken, ScriptRegistryModule, type ScriptRegistry } from 'luanest/script-registry';
import { checkObject, importedOnce } from '../../internal/src';
import { IdempotencyExplorer } from './idempotency/idempotency.explorer';
import { resolveOptions, type OnceOptions, type ResolvedOnceOptions } from './once.options';
import { onceScripts } from './once.scripts';
import { OnceService } from './once.service';
import { OnceStore } from './once.store';
import { ONCE_OPTIONS } from './once.tokens';
import { Runs } from './runs/runs';

/** Settings that must be known before the options are: they shape the module itself. */
export interface OnceModuleExtras {
  /** Whether the whole app sees the module, as `@Once()` and `@Idempotent()` need it. Default true. */
  readonly isGlobal?: boolean;
  /** Name of the ScriptRegistry to run on. Default: the default one. */
  readonly registry?: string;
}

const RAW_OPTIONS = Symbol('luanest:once-raw-options');

const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<OnceOptions>({
  optionsInjectionToken: RAW_OPTIONS,
})
  .setClassMethodName('forRoot')
  .setExtras<OnceModuleExtras>({ isGlobal: true, registry: undefined }, (definition, { isGlobal, registry }) => ({
    ...definition,
    global: isGlobal ?? true,
    imports: [...(definition.imports ?? []), DiscoveryModule, ScriptRegistryModule.forFeature(onceScripts, registry)],
    providers: [
      ...(definition.providers ?? []),
      importedOnce('OnceModule', OnceService),
      { provide: ONCE_OPTIONS, inject: [RAW_OPTIONS], useFactory: resolveOptions },
      {
        provide: OnceStore,
        inject: [getScriptRegistryToken(registry)],
        useFactory: (scripts: ScriptRegistry) => new OnceStore(scripts),
      },
      {
        provide: Runs,
        inject: [OnceStore, ONCE_OPTIONS],
        useFactory: (store: OnceStore, options: ResolvedOnceOptions) => new Runs(store, options),
      },
      {
        provide: OnceService,
        inject: [OnceStore, ONCE_OPTIONS, Runs],
        useFactory: (store: OnceStore, options: ResolvedOnceOptions, runs: Runs) =>
          new OnceService(store, options, runs),
      },
      {
        provide: IdempotencyExplorer,
        inject: [DiscoveryService, MetadataScanner],
        useFactory: (discovery: DiscoveryService, scanner: MetadataScanner) =>
          new IdempotencyExplorer(discovery, scanner),
      },
    ],
    exports: [OnceService, OnceStore, Runs, ONCE_OPTIONS],
  }))
  .build();

/** Once over a ScriptRegistry: the service, and what `@Once()` and `@Idempotent()` need. */
@Module({})
export class OnceModule extends ConfigurableModuleClass {
  /**
   * Makes the module; every option has a default but those of HTTP.
   *
   * @throws InvalidOptionError for what is no object; options that cannot work are refused when the app boots
   */
  static override forRoot(options: OnceOptions & OnceModuleExtras = {}): DynamicModule {
    return super.forRoot(checkObject('', options));
  }
}
