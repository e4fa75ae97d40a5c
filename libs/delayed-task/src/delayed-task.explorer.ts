import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService, ExternalContextCreator, MetadataScanner } from '@nestjs/core';
import { exploreMethods, NOT_A_SINGLETON, singletonOf, type ExploredMethod, SetupError } from '../../internal/src';
import { definitionOf } from './queue/task-codec';
import { delayedTasksOf, type DelayedTaskMetadata } from './delayed-task.decorator';
import type { TaskHandler } from './delayed-task.types';
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
      for (const metadata of delayedTasksOf(found.method)) this.add(found, metadata);
    }
  }

  private add({ wrapper, where, name: key, method }: ExploredMethod, { task, options }: DelayedTaskMetadata): void {
    const instance = singletonOf(wrapper);
    if (!instance) throw new SetupError(`${where}: ${NOT_A_SINGLETON}.`);
    const { enhancers = true, ...rest } = options;
    const run = enhancers ? enhance(this.contexts, instance, method, key) : (method.bind(instance) as TaskHandler);
    try {
      this.handlers.add(definitionOf(task), run, rest);
    } catch (cause) {
      throw new SetupError(`${where}: ${(cause as Error).message}`, { cause });
    }
  }
}
