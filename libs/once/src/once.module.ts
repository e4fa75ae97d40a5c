import { Module } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, MetadataScanner } from '@nestjs/core';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { constructed, defineLuanestModule, type ModuleExtras, neededRegistry } from '../../internal/src';
import { IdempotencyParts } from './idempotency/idempotency.parts';
import { OnceExplorer } from './once.explorer';
import { ONCE_OPTIONS, resolveOptions, type OnceModuleOptions, type ResolvedOnceModuleOptions } from './once.options';
import { onceScripts } from './once.scripts';
import { OnceService } from './once.service';
import { OnceStore } from './once.store';
import { Runs } from './runs/runs';

const OnceModuleBase = defineLuanestModule<OnceModuleOptions, ModuleExtras, ResolvedOnceModuleOptions>({
  name: 'OnceModule',
  optionsToken: ONCE_OPTIONS,
  resolve: resolveOptions,
  parts: ({ registry }, options) => ({
    imports: [DiscoveryModule, ScriptRegistryModule.forFeature(onceScripts, registry)],
    providers: [
      constructed(OnceStore, neededRegistry(registry)),
      constructed(Runs, options),
      constructed(OnceService, OnceStore, options, Runs),
      constructed(IdempotencyParts, options, Runs),
      constructed(OnceExplorer, DiscoveryService, MetadataScanner, OnceService),
    ],
    exports: [OnceService, IdempotencyParts],
  }),
});

/**
 * Provides OnceService, and the providers that `@Once()` and `@Idempotent()` need. Every option has a default, except
 * `idempotency.subject`. `@Idempotent()` needs that option.
 *
 * `@Once()` and `@Idempotent()` work only in modules that can inject OnceService: keep `isGlobal` true, its default, or import
 * OnceModule in each module that uses them.
 */
@Module({})
export class OnceModule extends OnceModuleBase {}
