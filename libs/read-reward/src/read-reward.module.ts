import { Module } from '@nestjs/common';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { constructed, defineLuanestModule, type ModuleExtras, neededRegistry } from '../../internal/src';
import {
  resolveOptions,
  type ReadRewardModuleOptions,
  type ResolvedReadRewardModuleOptions,
} from './read-reward.options';
import { readRewardScripts } from './read-reward.scripts';
import { ReadRewardService } from './read-reward.service';

const ReadRewardModuleBase = defineLuanestModule<
  ReadRewardModuleOptions,
  ModuleExtras,
  ResolvedReadRewardModuleOptions
>({
  name: 'ReadRewardModule',
  resolve: resolveOptions,
  parts: ({ registry }, options) => ({
    imports: [ScriptRegistryModule.forFeature(readRewardScripts, registry)],
    providers: [constructed(ReadRewardService, neededRegistry(registry), options)],
    exports: [ReadRewardService],
  }),
});

/** Provides ReadRewardService, which grants points for distinct items, up to a limit per period. `rules` is required. */
@Module({})
export class ReadRewardModule extends ReadRewardModuleBase {}
