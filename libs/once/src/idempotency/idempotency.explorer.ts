import type { OnModuleInit } from '@nestjs/common';
import type { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { exploreMethods, InvalidOptionError } from '../../../internal/src';

/** Metadata key of `@Idempotent()`. */
export const IDEMPOTENT = 'luanest:idempotent';
/** Metadata that Nest's route decorators leave on a method. */
const ROUTE_PATH = 'path';

/** The error of a handler that gets no HTTP requests. */
export function notHttp(where: string): InvalidOptionError {
  return new InvalidOptionError(
    `@Idempotent on ${where}: It gets no HTTP requests, so nothing has a key. Use @Once for handlers of messages.`,
  );
}

/** Finds `@Idempotent()` on methods that are no routes when the app starts: it would protect nothing there. */
export class IdempotencyExplorer implements OnModuleInit {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  /** @throws InvalidOptionError naming class and method */
  onModuleInit(): void {
    for (const { method, where } of exploreMethods(this.discovery, this.scanner)) {
      if (Reflect.hasMetadata(IDEMPOTENT, method) && !Reflect.hasMetadata(ROUTE_PATH, method)) throw notHttp(where);
    }
  }
}
