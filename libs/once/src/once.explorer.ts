import type { OnModuleInit } from '@nestjs/common';
import type { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { exploreMethods } from '../../internal/src';
import { refuseUnlessRoute } from './idempotency/idempotency.metadata';
import { hasOnce, onceService } from './once.decorator';
import type { OnceService } from './once.service';

/**
 * Gives OnceService to the objects that have methods with `@Once()`, even if Nest does not inject into them (`useFactory`). Stops
 * the boot of the app if `@Idempotent()` decorates a method that is not an HTTP route.
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
