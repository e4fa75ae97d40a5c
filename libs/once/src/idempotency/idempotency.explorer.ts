import type { OnModuleInit } from '@nestjs/common';
import type { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { exploreMethods, InvalidOptionError } from '../../../internal/src';

/** Metadata key of `@Idempotent()`. */
export const IDEMPOTENT = 'luanest:idempotent';
/** Metadata that Nest's route decorators leave on a method. */
const ROUTE_PATH = 'path';

/** Returns the error of a handler with `@Idempotent()` that does not get HTTP requests. */
export function notHttp(where: string): InvalidOptionError {
  return new InvalidOptionError(
    `@Idempotent on ${where}: It does not get HTTP requests, so there is never a key. Use @Once for message handlers.`,
  );
}

/** Refuses `@Idempotent()` on methods that are not routes when the app starts: it would not protect anything there. */
export class IdempotencyExplorer implements OnModuleInit {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  /** @throws InvalidOptionError that names class and method */
  onModuleInit(): void {
    for (const { method, where } of exploreMethods(this.discovery, this.scanner)) {
      if (Reflect.hasMetadata(IDEMPOTENT, method) && !Reflect.hasMetadata(ROUTE_PATH, method)) throw notHttp(where);
    }
  }
}
