import type { OnModuleInit } from '@nestjs/common';
import type { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { InvalidOptionError } from '../../../internal/src';
import { IDEMPOTENT } from './idempotency.tokens';

/** Metadata that Nest's route decorators leave on a method. */
const ROUTE_PATH = 'path';

/** The error of a handler that gets no HTTP requests. */
export function notHttp(where: string): InvalidOptionError {
  return new InvalidOptionError(
    `@Idempotent() decorates ${where}, which gets no HTTP requests, so nothing has a key. Give handlers of messages @Once().`,
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
    for (const { metatype } of [...this.discovery.getControllers(), ...this.discovery.getProviders()]) {
      const prototype =
        typeof metatype === 'function' ? (metatype.prototype as Record<string, unknown> | undefined) : undefined;
      if (!prototype) continue;
      for (const name of this.scanner.getAllMethodNames(prototype)) {
        const method = prototype[name] as object;
        if (!Reflect.hasMetadata(IDEMPOTENT, method) || Reflect.hasMetadata(ROUTE_PATH, method)) continue;
        throw notHttp(`${metatype?.name}.${name}`);
      }
    }
  }
}
