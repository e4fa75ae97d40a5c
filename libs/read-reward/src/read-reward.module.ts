import { Module } from '@nestjs/common';
import { getScriptRegistryToken, ScriptRegistryModule } from 'luanest/script-registry';
import { constructed, defineLuanestModule } from '../../internal/src';
import { resolveOptions, type ReadRewardOptions, type ResolvedReadRewardOptions } from './read-reward.options';
import { readRewardScripts } from './read-reward.scripts';
import { ReadRewardService } from './read-reward.service';

/** Settings that must be known before the options are: they shape the module itself. */
export interface ReadRewardModuleExtras {
  /** Whether every module of the app can inject the service without an import. Default true. */
  readonly isGlobal?: boolean;
  /** Name of the ScriptRegistry to run on. Default: the default one. */
  readonly registry?: string;
}

const ReadRewardModuleBase = defineLuanestModule<ReadRewardOptions, ReadRewardModuleExtras, ResolvedReadRewardOptions>({
  name: 'ReadRewardModule',
  resolve: resolveOptions,
  parts: ({ registry }, options) => ({
    imports: [ScriptRegistryModule.forFeature(readRewardScripts, registry)],
    providers: [constructed(ReadRewardService, getScriptRegistryToken(registry), options)],
    exports: [ReadRewardService],
  }),
});

/** Points for distinct items, up to a cap in each civil period, over a ScriptRegistry. `rules` is required. */
@Module({})
export class ReadRewardModule extends ReadRewardModuleBase {}
