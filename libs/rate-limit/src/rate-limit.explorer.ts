import type { OnModuleInit, Type } from '@nestjs/common';
import type { DiscoveryService, MetadataScanner } from '@nestjs/core';
import type { RateLimitEdge } from './rate-limit.edge';
import { RULES_METADATA, type Handler } from './rules/route-rules';

/** Works out the rules of every route when the app starts, so that one that cannot work stops it then. */
export class RateLimitExplorer implements OnModuleInit {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly edge: RateLimitEdge,
  ) {}

  /** @throws InvalidOptionError naming class and method */
  onModuleInit(): void {
    for (const { metatype } of [...this.discovery.getControllers(), ...this.discovery.getProviders()]) {
      if (typeof metatype !== 'function') continue;
      const target = metatype as Type<unknown>;
      const prototype = target.prototype as Record<string, unknown> | undefined;
      if (!prototype) continue;
      const ofClass = Reflect.hasMetadata(RULES_METADATA, target);
      for (const name of this.scanner.getAllMethodNames(prototype)) {
        const handler = prototype[name] as Handler;
        if (ofClass || Reflect.hasMetadata(RULES_METADATA, handler)) this.edge.plans.of(target, handler);
      }
    }
  }
}
