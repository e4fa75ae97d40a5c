import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService, ExternalContextCreator, MetadataScanner } from '@nestjs/core';
import { exploreMethods, NOT_A_SINGLETON, singletonOf, type ExploredMethod, SetupError } from '../../internal/src';
import { definitionOf } from './queue/task-codec';
import { delayedTasksOf } from './delayed-task.decorator';
import type { TaskDefinition } from './delayed-task.types';
import { enhance } from './handlers/nest-handler';
import { Handlers } from './worker/worker';

/** Finds the methods with `@DelayedTask()` at boot, and registers them as handlers. */
@Injectable()
export class DelayedTaskExplorer implements OnModuleInit {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly contexts: ExternalContextCreator,
    private readonly handlers: Handlers,
  ) {}

  /** @throws SetupError with class and method, for a handler that cannot be registered */
  onModuleInit(): void {
    for (const found of exploreMethods(this.discovery, this.scanner)) {
      for (const task of delayedTasksOf(found.method)) this.add(found, task);
    }
  }

  private add({ wrapper, where, name, method }: ExploredMethod, task: string | TaskDefinition): void {
    const instance = singletonOf(wrapper);
    if (!instance) throw new SetupError(`${where}: ${NOT_A_SINGLETON}.`);
    try {
      this.handlers.add(definitionOf(task), enhance(this.contexts, instance, method, name));
    } catch (cause) {
      throw new SetupError(`${where}: ${(cause as Error).message}`, { cause });
    }
  }
}
