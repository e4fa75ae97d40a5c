import { Module } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, MetadataScanner, ModulesContainer } from '@nestjs/core';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { constructed, defineLuanestModule, type ModuleExtras, neededRegistry } from '../../internal/src';
import { JobRegistry } from './jobs/job-registry';
import { ScheduledLockExplorer } from './scheduled-lock.explorer';
import {
  resolveOptions,
  type ResolvedScheduledLockModuleOptions,
  type ScheduledLockModuleOptions,
} from './scheduled-lock.options';
import { scheduledLockScripts } from './scheduled-lock.scripts';
import { ScheduledLockService } from './scheduled-lock.service';

const ScheduledLockModuleBase = defineLuanestModule<
  ScheduledLockModuleOptions,
  ModuleExtras,
  ResolvedScheduledLockModuleOptions
>({
  name: 'ScheduledLockModule',
  resolve: resolveOptions,
  parts: ({ registry }, options) => {
    const scripts = neededRegistry(registry);
    return {
      imports: [DiscoveryModule, ScriptRegistryModule.forFeature(scheduledLockScripts, registry)],
      providers: [
        constructed(JobRegistry),
        constructed(ScheduledLockService, scripts, options, JobRegistry),
        constructed(
          ScheduledLockExplorer,
          DiscoveryService,
          MetadataScanner,
          ModulesContainer,
          scripts,
          JobRegistry,
          ScheduledLockService,
          options,
        ),
      ],
      exports: [ScheduledLockService],
    };
  },
});

/** Runs each scheduled job of `@nestjs/schedule` on one of several nodes only. `namespace` is required. */
@Module({})
export class ScheduledLockModule extends ScheduledLockModuleBase {}
