import { Module, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, ModuleRef, ModulesContainer } from '@nestjs/core';
import { getScriptRegistryToken, ScriptRegistryModule, type ScriptRegistry } from 'luanest/script-registry';
import { constructed, defineLuanestModule, time } from '../../internal/src';
import { ActionLog } from './action-log';
import { Assets } from './assets';
import { ConsoleAccess } from './console.access';
import { controllersAt } from './console.controller';
import {
  CONSOLE_OPTIONS,
  pathOf,
  resolveOptions,
  type ConsoleModuleExtras,
  type ConsoleModuleOptions,
  type ResolvedConsoleModuleOptions,
} from './console.options';
import { consoleScripts } from './console.scripts';
import { ConsoleService, CREATE_SECTIONS, HISTORY, type CreateSections } from './console.service';
import { LiveOverview } from './live-overview';
import { Payloads } from './payloads';
import { createSections } from './sections/create-sections';
import { History } from './sections/history';

/** Counts events from the start of the app to its shutdown. */
class RunningHistory extends History implements OnApplicationBootstrap, BeforeApplicationShutdown {
  onApplicationBootstrap(): void {
    this.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.close();
  }
}

const ConsoleModuleBase = defineLuanestModule<ConsoleModuleOptions, ConsoleModuleExtras, ResolvedConsoleModuleOptions>({
  name: 'ConsoleModule',
  optionsToken: CONSOLE_OPTIONS,
  isGlobal: false,
  extras: { path: '/console' },
  resolve: resolveOptions,
  parts: ({ path, registry }, options) => {
    const registryToken = getScriptRegistryToken(registry);
    return {
      imports: [DiscoveryModule, ScriptRegistryModule.forFeature(consoleScripts, registry)],
      controllers: controllersAt(pathOf(path)),
      providers: [
        constructed(ActionLog, registryToken),
        { provide: Assets, useFactory: () => new Assets() },
        constructed(ConsoleAccess, options, ModuleRef, ModulesContainer, registryToken),
        { provide: CREATE_SECTIONS, useValue: createSections satisfies CreateSections },
        {
          provide: HISTORY,
          inject: [registryToken],
          useFactory: (scripts: ScriptRegistry) => new RunningHistory(scripts),
        },
        {
          provide: ConsoleService,
          inject: [DiscoveryService, CREATE_SECTIONS, options, ActionLog],
          useFactory: (
            discovery: DiscoveryService,
            create: CreateSections,
            resolved: ResolvedConsoleModuleOptions,
            log: ActionLog,
          ) => {
            const payloads = new Payloads(resolved);
            const context = { payload: (value: unknown) => payloads.show(value), nowMs: () => time.nowMs() };
            return new ConsoleService(discovery, create, context, log);
          },
        },
        {
          provide: LiveOverview,
          inject: [ConsoleService, ActionLog],
          useFactory: (service: ConsoleService, log: ActionLog) =>
            new LiveOverview(
              () => service.overview(),
              () => log.newest(),
            ),
        },
      ],
      exports: [],
    };
  },
});

/**
 * Serves a web page for operators. It shows what the modules of luanest store in Redis, and runs actions, such as the retry of a
 * task. A guard is required. Import the module once, in the root module.
 */
@Module({})
export class ConsoleModule extends ConsoleModuleBase {}
