import { Module } from '@nestjs/common';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { constructed, defineLuanestModule, type ModuleExtras, neededRegistry } from '../../internal/src';
import { resolveOptions, type LockModuleOptions, type ResolvedLockModuleOptions } from './lock.options';
import { lockScripts } from './lock.scripts';
import { LockService } from './lock.service';

const LockModuleBase = defineLuanestModule<LockModuleOptions, ModuleExtras, ResolvedLockModuleOptions>({
  name: 'LockModule',
  resolve: resolveOptions,
  parts: ({ registry }, options) => ({
    imports: [ScriptRegistryModule.forFeature(lockScripts, registry)],
    providers: [constructed(LockService, neededRegistry(registry), options)],
    exports: [LockService],
  }),
});

/** Provides LockService. Every option has a default. */
@Module({})
export class LockModule extends LockModuleBase {}
