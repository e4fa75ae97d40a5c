import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { constructed, defineLuanestModule, neededRegistry, EXPLORER_PARTS } from '../../internal/src';
import { DelayedTaskExplorer } from './delayed-task.explorer';
import { resolveOptions, type DelayedTaskModuleOptions, type ResolvedDelayedTaskOptions } from './delayed-task.options';
import { delayedTaskScripts } from './delayed-task.scripts';
import { DelayedTaskService } from './delayed-task.service';
import { Handlers } from './worker/worker';

/** Settings of DelayedTaskModule that Nest needs before it knows the options. With `forRootAsync`, write them next to the factory. */
export interface DelayedTaskModuleExtras {
  /** If true, every module of the app can inject DelayedTaskService without importing DelayedTaskModule. Default true. */
  readonly isGlobal?: boolean;
  /** Name of the ScriptRegistry that runs the Lua scripts of this module. Default: the ScriptRegistry without a name. */
  readonly registry?: string;
}

const DelayedTaskModuleBase = defineLuanestModule<
  DelayedTaskModuleOptions,
  DelayedTaskModuleExtras,
  ResolvedDelayedTaskOptions
>({
  name: 'DelayedTaskModule',
  resolve: resolveOptions,
  parts: ({ registry }, options) => ({
    imports: [DiscoveryModule, ScriptRegistryModule.forFeature(delayedTaskScripts, registry)],
    providers: [
      constructed(Handlers, options),
      constructed(DelayedTaskService, neededRegistry(registry), options, Handlers),
      constructed(DelayedTaskExplorer, ...EXPLORER_PARTS, Handlers, options),
    ],
    exports: [DelayedTaskService],
  }),
});

/**
 * Provides `DelayedTaskService`, and runs the methods with `@DelayedTask`. Import this module once, in the root module. All options have
 * defaults.
 */
@Module({})
export class DelayedTaskModule extends DelayedTaskModuleBase {}
