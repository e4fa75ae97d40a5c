import { ConfigurableModuleBuilder, Module, type DynamicModule } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { getScriptRegistryToken, ScriptRegistryModule, type ScriptRegistry } from 'luanest/script-registry';
import { checkObject, EXPLORER_PARTS, importedOnce } from '../../internal/src';
import { STREAM_CONSUMER_HOST } from './stream-consumer.decorator';
import { StreamConsumerExplorer } from './stream-consumer.explorer';
import {
  resolveOptions,
  type ResolvedStreamConsumerModuleOptions,
  type StreamConsumerModuleOptions,
} from './stream-consumer.options';
import { streamConsumerScripts } from './stream-consumer.scripts';
import { StreamConsumerService } from './stream-consumer.service';

/** Settings that must be known before the options are. */
export interface StreamConsumerModuleExtras {
  /** Whether every module of the app can inject the service without an import. Default true. */
  readonly isGlobal?: boolean;
  /** Name of the ScriptRegistry to run on. Default: the default one. */
  readonly registry?: string;
}

const RAW_OPTIONS = Symbol('luanest:stream-consumer-raw-options');
const OPTIONS = Symbol('luanest:stream-consumer-options');

const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<StreamConsumerModuleOptions>({
  optionsInjectionToken: RAW_OPTIONS,
})
  .setClassMethodName('forRoot')
  .setExtras<StreamConsumerModuleExtras>(
    { isGlobal: true, registry: undefined },
    (definition, { isGlobal, registry }) => ({
      ...definition,
      global: isGlobal ?? true,
      imports: [
        ...(definition.imports ?? []),
        DiscoveryModule,
        ScriptRegistryModule.forFeature(streamConsumerScripts, registry),
      ],
      providers: [
        ...(definition.providers ?? []),
        importedOnce('StreamConsumerModule', StreamConsumerService),
        { provide: OPTIONS, inject: [RAW_OPTIONS], useFactory: resolveOptions },
        {
          provide: StreamConsumerService,
          inject: [getScriptRegistryToken(registry), OPTIONS],
          useFactory: (scripts: ScriptRegistry, options: ResolvedStreamConsumerModuleOptions) =>
            new StreamConsumerService(scripts, options),
        },
        { provide: STREAM_CONSUMER_HOST, useExisting: StreamConsumerService },
        {
          provide: StreamConsumerExplorer,
          inject: [...EXPLORER_PARTS, StreamConsumerService, OPTIONS],
          useFactory: (...parts: ConstructorParameters<typeof StreamConsumerExplorer>) =>
            new StreamConsumerExplorer(...parts),
        },
      ],
      exports: [StreamConsumerService, STREAM_CONSUMER_HOST],
    }),
  )
  .build();

/** Consumers of streams, and a service to publish. Import it once, in the root module. */
@Module({})
export class StreamConsumerModule extends ConfigurableModuleClass {
  /**
   * Makes the module; every option has a default.
   *
   * @throws InvalidOptionError for what is no object; options that cannot work are refused when the app boots
   */
  static override forRoot(options: StreamConsumerModuleOptions & StreamConsumerModuleExtras = {}): DynamicModule {
    return super.forRoot(checkObject('', options));
  }
}
