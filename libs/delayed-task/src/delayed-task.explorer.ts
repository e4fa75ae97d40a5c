import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService, ExternalContextCreator, MetadataScanner } from '@nestjs/core';
import { type Method, methodOf, prototypeOf, type Wrapper } from '../../internal/src';
import { delayedTasksOf, type DelayedTaskMetadata } from './delayed-task.decorator';
import { DelayedTaskSetupError } from './delayed-task.errors';
import { DelayedTaskService } from './delayed-task.service';
import type { TaskHandler } from './delayed-task.types';
import { enhance } from './handlers/enhance';

/** Finds decorated handlers at boot. */
@Injectable()
export class DelayedTaskExplorer implements OnModuleInit {
  private readonly seen = new Set<unknown>();

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly contexts: ExternalContextCreator,
    private readonly service: DelayedTaskService,
  ) {}

  /** @throws DelayedTaskSetupError naming class and method */
  onModuleInit(): void {
    for (const wrapper of [...this.discovery.getControllers(), ...this.discovery.getProviders()]) {
      const prototype = prototypeOf(wrapper);
      for (const name of prototype ? this.scanner.getAllMethodNames(prototype) : []) {
        const method = methodOf(prototype as object, name);
        const tasks = method ? delayedTasksOf(method) : [];
        if (tasks.length === 0 || this.seenBefore(wrapper)) continue;
        for (const task of tasks) this.add(wrapper, name, method as Method, task);
      }
      if (wrapper.instance) this.seen.add(wrapper.instance);
    }
  }

  /** An alias is the same instance under another name. */
  private seenBefore({ instance }: Wrapper): boolean {
    return this.seen.has(instance);
  }

  private add(wrapper: Wrapper, key: string, method: Method, { name, options }: DelayedTaskMetadata): void {
    const where = `${(prototypeOf(wrapper) as object).constructor.name}.${key}`;
    if (!wrapper.isDependencyTreeStatic() || wrapper.isTransient || !wrapper.instance) {
      throw new DelayedTaskSetupError(
        `${where} does tasks named ${name}, and is request-scoped or transient, or depends on what is. Make it a singleton.`,
      );
    }
    const { enhancers = true, ...rest } = options;
    const instance = wrapper.instance as object;
    const run = enhancers ? enhance(this.contexts, instance, method, key) : (method.bind(instance) as TaskHandler);
    try {
      this.service.process(name, run, rest);
    } catch (cause) {
      throw new DelayedTaskSetupError(`${where}: ${(cause as Error).message}`, { cause });
    }
  }
}
