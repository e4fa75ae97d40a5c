import type { OnModuleInit } from '@nestjs/common';
import type { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { exploreMethods, InvalidOptionError } from '../../../internal/src';

export const IDEMPOTENT = 'luanest:idempotent';
/** Metadata key that Nest's route decorators, such as `@Post()`, set on a method. */
const ROUTE_PATH = 'path';

export function notHttp(where: string): InvalidOptionError {
  return new InvalidOptionError(
    `@Idempotent on ${where}: The method is not an HTTP route, so no request has a key. Use @Once() for message handlers.`,
  );
}

/** Stops the boot of the app if `@Idempotent()` is on a method that is not an HTTP route, where it would have no effect. */
export class IdempotencyExplorer implements OnModuleInit {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  /** Checks all methods. @throws InvalidOptionError that names the class and the method */
  onModuleInit(): void {
    for (const { method, where } of exploreMethods(this.discovery, this.scanner)) {
      if (Reflect.hasMetadata(IDEMPOTENT, method) && !Reflect.hasMetadata(ROUTE_PATH, method)) throw notHttp(where);
    }
  }
}
