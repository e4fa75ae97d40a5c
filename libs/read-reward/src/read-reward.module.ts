import { ConfigurableModuleBuilder, Module, type DynamicModule } from '@nestjs/common';
import { getScriptRegistryToken, ScriptRegistryModule, type ScriptRegistry } from 'luanest/script-registry';
import { checkObject, importedOnce } from '../../internal/src';
import { resolveOptions, type ReadRewardOptions, type ResolvedReadRewardOptions } from './read-reward.options';
import { readRewardScripts } from './read-reward.scripts';
import { ReadRewardService } from './read-reward.service';
import { READ_REWARD_OPTIONS } from './read-reward.tokens';

/** Settings that must be known before the options are: they shape the module itself. */
export interface ReadRewardModuleExtras {
  /** Whether every module of the app can inject the service without an import. Default true. */
  readonly isGlobal?: boolean;
  /** Name of the ScriptRegistry to run on. Default: the default one. */
  readonly registry?: string;
}

const RAW_OPTIONS = Symbol('luanest:read-reward-raw-options');

const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<ReadRewardOptions>({
  optionsInjectionToken: RAW_OPTIONS,
})
  .setClassMethodName('forRoot')
  .setExtras<ReadRewardModuleExtras>({ isGlobal: true, registry: undefined }, (definition, { isGlobal, registry }) => ({
    ...definition,
    global: isGlobal ?? true,
    imports: [...(definition.imports ?? []), ScriptRegistryModule.forFeature(readRewardScripts, registry)],
    providers: [
      ...(definition.providers ?? []),
      importedOnce('ReadRewardModule', ReadRewardService),
      { provide: READ_REWARD_OPTIONS, inject: [RAW_OPTIONS], useFactory: resolveOptions },
      {
        provide: ReadRewardService,
        inject: [getScriptRegistryToken(registry), READ_REWARD_OPTIONS],
        useFactory: (scripts: ScriptRegistry, options: ResolvedReadRewardOptions) =>
          new ReadRewardService(scripts, options),
      },
    ],
    exports: [ReadRewardService],
  }))
  .build();

/** Points for distinct items, at most so many a civil period, over a ScriptRegistry. */
@Module({})
export class ReadRewardModule extends ConfigurableModuleClass {
  /**
   * Makes the module.
   *
   * @throws InvalidOptionError for what is no object; options that cannot work are refused when the app boots
   */
  static override forRoot(options: ReadRewardOptions & ReadRewardModuleExtras): DynamicModule {
    return super.forRoot(checkObject('', options));
  }
}
