import { ConfigurableModuleBuilder, Module, type DynamicModule } from '@nestjs/common';
import { DiscoveryModule, ModulesContainer } from '@nestjs/core';
import { getScriptRegistryToken, ScriptRegistryModule, type ScriptRegistry } from 'luanest/script-registry';
import { checkObject, EXPLORER_PARTS, importedOnce } from '../../internal/src';
import { SCHEDULED_LOCK_HOST } from './scheduled-lock.decorator';
import { ScheduledLockExplorer } from './scheduled-lock.explorer';
import {
  resolveOptions,
  type ResolvedScheduledLockModuleOptions,
  type ScheduledLockModuleOptions,
} from './scheduled-lock.options';
import { scheduledLockScripts } from './scheduled-lock.scripts';
import { ScheduledLockService } from './scheduled-lock.service';

/** Settings that must be known before the options are. */
export interface ScheduledLockModuleExtras {
  /** Whether every module of the app can inject the service without an import. Default true. */
  readonly isGlobal?: boolean;
  /** Name of the ScriptRegistry to run on. Default: the default one. */
  readonly registry?: string;
}

const RAW_OPTIONS = Symbol('luanest:scheduled-lock-raw-options');
const OPTIONS = Symbol('luanest:scheduled-lock-options');

const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<ScheduledLockModuleOptions>({
  optionsInjectionToken: RAW_OPTIONS,
})
  .setClassMethodName('forRoot')
  .setExtras<ScheduledLockModuleExtras>(
    { isGlobal: true, registry: undefined },
    (definition, { isGlobal, registry }) => ({
      ...definition,
      global: isGlobal ?? true,
      imports: [
        ...(definition.imports ?? []),
        DiscoveryModule,
        ScriptRegistryModule.forFeature(scheduledLockScripts, registry),
      ],
      providers: [
        ...(definition.providers ?? []),
        importedOnce('ScheduledLockModule', ScheduledLockService),
        { provide: OPTIONS, inject: [RAW_OPTIONS], useFactory: resolveOptions },
        {
          provide: ScheduledLockService,
          inject: [getScriptRegistryToken(registry), OPTIONS],
          useFactory: (scripts: ScriptRegistry, options: ResolvedScheduledLockModuleOptions) =>
            new ScheduledLockService(scripts, options),
        },
        { provide: SCHEDULED_LOCK_HOST, useExisting: ScheduledLockService },
        {
          provide: ScheduledLockExplorer,
          inject: [
            ...EXPLORER_PARTS,
            ModulesContainer,
            getScriptRegistryToken(registry),
            ScheduledLockService,
            OPTIONS,
          ],
          useFactory: (...parts: ConstructorParameters<typeof ScheduledLockExplorer>) =>
            new ScheduledLockExplorer(...parts),
        },
      ],
      exports: [ScheduledLockService, SCHEDULED_LOCK_HOST],
    }),
  )
  .build();

/** Jobs of `@nestjs/schedule` that run on one node for each tick. Import it once, in the root module. */
@Module({})
export class ScheduledLockModule extends ConfigurableModuleClass {
  /**
   * Makes the module; every option but `namespace` has a default.
   *
   * @throws InvalidOptionError for what is no object; options that cannot work are refused when the app boots
   */
  static override forRoot(options: ScheduledLockModuleOptions & ScheduledLockModuleExtras): DynamicModule {
    return super.forRoot(checkObject('', options));
  }
}
