import { Module } from '@nestjs/common';
import { getScriptRegistryToken, ScriptRegistryModule } from 'luanest/script-registry';
import { constructed, defineLuanestModule } from '../../internal/src';
import { resolveOptions, type LockModuleOptions, type ResolvedLockModuleOptions } from './lock.options';
import { lockScripts } from './lock.scripts';
import { LockService } from './lock.service';

/** Settings that the module needs before `useFactory` can return the options. */
export interface LockModuleExtras {
  /** True to let every module of the app inject the service without an import. Default true. */
  readonly isGlobal?: boolean;
  /** Name of the ScriptRegistry that runs the scripts. Default: the registry without a name. */
  readonly registry?: string;
}

const LockModuleBase = defineLuanestModule<LockModuleOptions, LockModuleExtras, ResolvedLockModuleOptions>({
  name: 'LockModule',
  resolve: resolveOptions,
  parts: ({ registry }, options) => ({
    imports: [ScriptRegistryModule.forFeature(lockScripts, registry)],
    providers: [constructed(LockService, getScriptRegistryToken(registry), options)],
    exports: [LockService],
  }),
});

/** Module that provides LockService. Every option has a default. */
@Module({})
export class LockModule extends LockModuleBase {}
