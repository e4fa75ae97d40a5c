import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService, ExternalContextCreator, MetadataScanner } from '@nestjs/core';
import {
  exploreMethods,
  forgottenHandlers,
  forgottenText,
  NOT_A_SINGLETON,
  singletonOf,
  type ExploredMethod,
  SetupError,
} from '../../internal/src';
import { definitionOf } from './queue/task-codec';
import { delayedTasksOf } from './delayed-task.decorator';
import type { ResolvedDelayedTaskOptions } from './delayed-task.options';
import type { TaskDefinition } from './delayed-task.types';
import { enhance } from './handlers/nest-handler';
import { Handlers } from './worker/worker';

/** Registers the methods with `@DelayedTask()` as handlers when the app boots. */
@Injectable()
export class DelayedTaskExplorer implements OnModuleInit {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly contexts: ExternalContextCreator,
    private readonly handlers: Handlers,
    private readonly options: Pick<ResolvedDelayedTaskOptions, 'work'>,
  ) {}

  /** Registers the handlers. @throws SetupError if a handler cannot be registered; the message names its class and method */
  onModuleInit(): void {
    let count = 0;
    for (const found of exploreMethods(this.discovery, this.scanner)) {
      for (const task of delayedTasksOf(found.method)) {
        this.add(found, task);
        count += 1;
      }
    }
    const forgotten = count > 0 || this.options.work === false ? [] : forgottenHandlers(this.discovery, '@DelayedTask');
    if (forgotten.length === 0) return;
    new Logger('DelayedTask').warn(
      `${forgottenText('@DelayedTask', forgotten)} If this process should only schedule tasks, set work: false in DelayedTaskModule.forRoot().`,
    );
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
