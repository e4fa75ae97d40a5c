import { ConfigurableModuleBuilder, Module, type DynamicModule } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { getScriptRegistryToken, ScriptRegistryModule, type ScriptRegistry } from 'luanest/script-registry';
import { checkObject, EXPLORER_PARTS, importedOnce } from '../../internal/src';
import { DelayedTaskExplorer } from './delayed-task.explorer';
import { resolveOptions, type DelayedTaskModuleOptions } from './delayed-task.options';
import { delayedTaskScripts } from './delayed-task.scripts';
import { DelayedTaskService } from './delayed-task.service';

/** Settings that must be known before the options are. */
export interface DelayedTaskModuleExtras {
  /** Whether every module of the app can inject the service without an import. Default true. */
  readonly isGlobal?: boolean;
  /** Name of the ScriptRegistry to run on. Default: the default one. */
  readonly registry?: string;
}

const RAW_OPTIONS = Symbol('luanest:delayed-task-raw-options');

const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<DelayedTaskModuleOptions>({
  optionsInjectionToken: RAW_OPTIONS,
})
  .setClassMethodName('forRoot')
  .setExtras<DelayedTaskModuleExtras>(
    { isGlobal: true, registry: undefined },
    (definition, { isGlobal, registry }) => ({
      ...definition,
      global: isGlobal ?? true,
      imports: [
        ...(definition.imports ?? []),
        DiscoveryModule,
        ScriptRegistryModule.forFeature(delayedTaskScripts, registry),
      ],
      providers: [
        ...(definition.providers ?? []),
        importedOnce('DelayedTaskModule', DelayedTaskService),
        {
          provide: DelayedTaskService,
          inject: [getScriptRegistryToken(registry), RAW_OPTIONS],
          useFactory: (scripts: ScriptRegistry, raw: DelayedTaskModuleOptions) =>
            new DelayedTaskService(scripts, resolveOptions(raw)),
        },
        {
          provide: DelayedTaskExplorer,
          inject: [...EXPLORER_PARTS, DelayedTaskService],
          useFactory: (...parts: ConstructorParameters<typeof DelayedTaskExplorer>) =>
            new DelayedTaskExplorer(...parts),
        },
      ],
      exports: [DelayedTaskService],
    }),
  )
  .build();

/** Delayed tasks over a ScriptRegistry. Import it once, in the root module; the whole app sees the service. */
@Module({})
export class DelayedTaskModule extends ConfigurableModuleClass {
  /**
   * Makes the module; every option has a default.
   *
   * @throws InvalidOptionError for what is no object; options that cannot work are refused when the app boots
   */
  static override forRoot(options: DelayedTaskModuleOptions & DelayedTaskModuleExtras = {}): DynamicModule {
    return super.forRoot(checkObject('', options));
  }
}
