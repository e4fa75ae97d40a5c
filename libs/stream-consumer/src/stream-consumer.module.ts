import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { constructed, defineLuanestModule, neededRegistry, EXPLORER_PARTS } from '../../internal/src';
import { ConsumerSet } from './consumer/consumer-set';
import { StreamConsumerExplorer } from './stream-consumer.explorer';
import {
  resolveOptions,
  type ResolvedStreamConsumerModuleOptions,
  type StreamConsumerModuleOptions,
} from './stream-consumer.options';
import { streamConsumerScripts } from './stream-consumer.scripts';
import { StreamConsumerService } from './stream-consumer.service';
import { StreamCatalog } from './streams/stream-catalog';

/** Settings of StreamConsumerModule that Nest needs before it knows the options. */
export interface StreamConsumerModuleExtras {
  /** True: every module of the app can inject StreamConsumerService without importing StreamConsumerModule. Default true. */
  readonly isGlobal?: boolean;
  /** Name of the ScriptRegistry that runs the scripts. Default: the ScriptRegistry without a name. */
  readonly registry?: string;
}

const StreamConsumerModuleBase = defineLuanestModule<
  StreamConsumerModuleOptions,
  StreamConsumerModuleExtras,
  ResolvedStreamConsumerModuleOptions
>({
  name: 'StreamConsumerModule',
  resolve: resolveOptions,
  parts: ({ registry }, options) => {
    const scripts = neededRegistry(registry);
    return {
      imports: [DiscoveryModule, ScriptRegistryModule.forFeature(streamConsumerScripts, registry)],
      providers: [
        constructed(StreamCatalog, scripts),
        constructed(ConsumerSet, scripts, StreamCatalog, options),
        constructed(StreamConsumerService, scripts, options, StreamCatalog, ConsumerSet),
        constructed(StreamConsumerExplorer, ...EXPLORER_PARTS, ConsumerSet, options),
      ],
      exports: [StreamConsumerService],
    };
  },
});

/** Provides `StreamConsumerService`, and runs the methods with `@StreamConsumer`. Every option has a default. */
@Module({})
export class StreamConsumerModule extends StreamConsumerModuleBase {}
