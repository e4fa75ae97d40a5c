import { Module } from '@nestjs/common';
import { getScriptRegistryToken, ScriptRegistryModule } from 'luanest/script-registry';
import { constructed, defineLuanestModule } from '../../internal/src';
import { resolveOptions, type LockModuleOptions, type ResolvedLockModuleOptions } from './lock.options';
import { lockScripts } from './lock.scripts';
import { LockService } from './lock.service';

/** Settings that must be known before the options are. */
export interface LockModuleExtras {
  /** Whether every module of the app can inject the service without an import. Default true. */
  readonly isGlobal?: boolean;
  /** Name of the ScriptRegistry to run on. Default: the default one. */
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

/** Locks over a ScriptRegistry. Every option has a default. */
@Module({})
export class LockModule extends LockModuleBase {}
