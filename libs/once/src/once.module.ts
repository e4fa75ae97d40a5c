import { Module } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, MetadataScanner } from '@nestjs/core';
import { getScriptRegistryToken, ScriptRegistryModule } from 'luanest/script-registry';
import { constructed, defineLuanestModule } from '../../internal/src';
import { IdempotencyExplorer } from './idempotency/idempotency.explorer';
import { ONCE_OPTIONS, resolveOptions, type OnceOptions, type ResolvedOnceOptions } from './once.options';
import { onceScripts } from './once.scripts';
import { OnceService } from './once.service';
import { OnceStore } from './once.store';
import { Runs } from './runs/runs';

/** Settings that must be known before the options are: they shape the module itself. */
export interface OnceModuleExtras {
  /** Whether the whole app sees the module, as `@Once()` and `@Idempotent()` need it. Default true. */
  readonly isGlobal?: boolean;
  /** Name of the ScriptRegistry to run on. Default: the default one. */
  readonly registry?: string;
}

const OnceModuleBase = defineLuanestModule<OnceOptions, OnceModuleExtras, ResolvedOnceOptions>({
  name: 'OnceModule',
  optionsToken: ONCE_OPTIONS,
  resolve: resolveOptions,
  parts: ({ registry }, options) => ({
    imports: [DiscoveryModule, ScriptRegistryModule.forFeature(onceScripts, registry)],
    providers: [
      constructed(OnceStore, getScriptRegistryToken(registry)),
      constructed(Runs, OnceStore, options),
      constructed(OnceService, OnceStore, options, Runs),
      constructed(IdempotencyExplorer, DiscoveryService, MetadataScanner),
    ],
    exports: [OnceService, OnceStore, Runs, options],
  }),
});

/**
 * Once over a ScriptRegistry: the service, and what `@Once()` and `@Idempotent()` need. Every option has a default but those
 * of HTTP.
 */
@Module({})
export class OnceModule extends OnceModuleBase {}
