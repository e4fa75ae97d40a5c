import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService, ExternalContextCreator, MetadataScanner } from '@nestjs/core';
import { methodOf, NOT_A_SINGLETON, prototypeOf, singletonOf, type Wrapper } from '../../internal/src';
import { enhance } from './handlers/nest-handler';
import { streamConsumerNames, streamConsumerOf } from './stream-consumer.decorator';
import { StreamConsumerSetupError } from './stream-consumer.errors';
import {
  resolveConsumer,
  type ResolvedStreamConsumerModuleOptions,
  type StreamConsumerOptions,
} from './stream-consumer.options';
import { StreamConsumerService } from './stream-consumer.service';

/** Finds decorated handlers at boot, and refuses each that would never run, or run beside another one. */
@Injectable()
export class StreamConsumerExplorer implements OnModuleInit {
  private readonly groups = new Map<string, string>();

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly contexts: ExternalContextCreator,
    private readonly service: StreamConsumerService,
    private readonly options: ResolvedStreamConsumerModuleOptions,
  ) {}

  /** @throws StreamConsumerSetupError naming class and method; InvalidOptionError */
  onModuleInit(): void {
    for (const wrapper of [...this.discovery.getControllers(), ...this.discovery.getProviders()]) {
      // An alias is the provider that it names.
      if (wrapper.isAlias) continue;
      const prototype = prototypeOf(wrapper);
      if (prototype) this.explore(wrapper, prototype);
    }
  }

  private explore(wrapper: Wrapper, prototype: object): void {
    const named = streamConsumerNames(prototype);
    for (const name of new Set([...this.scanner.getAllMethodNames(prototype), ...named])) {
      const method = methodOf(prototype, name);
      const found = method && streamConsumerOf(method);
      const where = `${prototype.constructor.name}.${name}`;
      if (found) this.add(wrapper, where, name, found);
      else if (named.includes(name)) {
        throw new StreamConsumerSetupError(
          `${where}: another decorator or an override replaced the handler, so no message would reach it. ` +
            `Put @StreamConsumer() on what replaced it.`,
        );
      }
    }
  }

  private add(wrapper: Wrapper, where: string, name: string, given: StreamConsumerOptions): void {
    const instance = singletonOf(wrapper);
    if (!instance) {
      throw new StreamConsumerSetupError(`${where}: ${NOT_A_SINGLETON}.`);
    }
    const options = resolveConsumer(given, this.options, `@StreamConsumer on ${where}`);
    const group = `${options.stream}/${options.group}`;
    const other = this.groups.get(group);
    if (other !== undefined) {
      const remedy = 'Give it a group of its own, or one method for both';
      throw new StreamConsumerSetupError(
        other === where
          ? `${where}: its class is provided twice, so two instances would share the messages. Provide it once.`
          : `${where}: ${other} handles ${group} already, so each would get some of the messages. ${remedy}.`,
      );
    }
    this.groups.set(group, where);
    this.service.declare(options, enhance(this.contexts, instance, name));
  }
}
