import { ConfigurableModuleBuilder, Module, type DynamicModule } from '@nestjs/common';
import { getScriptRegistryToken, ScriptRegistryModule, type ScriptRegistry } from 'luanest/script-registry';
import { checkObject, importedOnce } from '../../internal/src';
import { resolveOptions, type LockModuleOptions } from './lock.options';
import { lockScripts } from './lock.scripts';
import { LockService } from './lock.service';

/** Settings that must be known before the options are. */
export interface LockModuleExtras {
  /** Whether every module of the app can inject the service without an import. Default true. */
  readonly isGlobal?: boolean;
  /** Name of the ScriptRegistry to run on. Default: the default one. */
  readonly registry?: string;
}

const RAW_OPTIONS = Symbol('luanest:lock-raw-options');

const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<LockModuleOptions>({
  optionsInjectionToken: RAW_OPTIONS,
})
  .setClassMethodName('forRoot')
  .setExtras<LockModuleExtras>({ isGlobal: true, registry: undefined }, (definition, { isGlobal, registry }) => ({
    ...definition,
    global: isGlobal ?? true,
    imports: [...(definition.imports ?? []), ScriptRegistryModule.forFeature(lockScripts, registry)],
    providers: [
      ...(definition.providers ?? []),
      importedOnce('LockModule', LockService),
      {
        provide: LockService,
        inject: [getScriptRegistryToken(registry), RAW_OPTIONS],
        useFactory: (scripts: ScriptRegistry, raw: LockModuleOptions) => new LockService(scripts, resolveOptions(raw)),
      },
    ],
    exports: [LockService],
  }))
  .build();

/** Locks over a ScriptRegistry. */
@Module({})
export class LockModule extends ConfigurableModuleClass {
  /**
   * Makes the module; every option has a default.
   *
   * @throws InvalidOptionError for what is no object; options that cannot work are refused when the app boots
   */
  static override forRoot(options: LockModuleOptions & LockModuleExtras = {}): DynamicModule {
    return super.forRoot(checkObject('', options));
  }
}
