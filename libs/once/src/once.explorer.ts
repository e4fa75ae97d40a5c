import type { OnModuleInit } from '@nestjs/common';
import type { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { exploreMethods } from '../../internal/src';
import { refuseUnlessRoute } from './idempotency/idempotency.metadata';
import { hasOnce, onceService } from './once.decorator';
import type { OnceService } from './once.service';

/**
 * Brings OnceService into the objects with `@Once()` methods that Nest does not construct itself (`useFactory`). Stops the boot if
 * `@Idempotent()` decorates a method that is not an HTTP route.
 */
export class OnceExplorer implements OnModuleInit {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly service: OnceService,
  ) {}

  /** @throws InvalidOptionError that names the class and the method */
  onModuleInit(): void {
    for (const { wrapper, prototype, method, where } of exploreMethods(this.discovery, this.scanner)) {
      refuseUnlessRoute(method, where);
      const instance: unknown = wrapper.instance;
      if (instance && hasOnce(prototype)) onceService.give(instance, this.service);
    }
  }
}
