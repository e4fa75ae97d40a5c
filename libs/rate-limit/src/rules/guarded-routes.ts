import type { Type } from '@nestjs/common';
import type { ApplicationConfig } from '@nestjs/core';
import { RateLimitGuard } from '../rate-limit.guard';
import { metadata, type Handler } from './route-names';

/** Returns true for RateLimitGuard, a class that extends it, and a class that injects it. */
function usesRateLimitGuard(guard: unknown): boolean {
  if (typeof guard !== 'function') return false;
  const isGuard = (type: unknown): boolean =>
    typeof type === 'function' && (type === RateLimitGuard || type.prototype instanceof RateLimitGuard);
  const target = guard as Type<unknown>;
  const parameters = metadata<unknown[]>('design:paramtypes', target) ?? [];
  const declared = metadata<{ param: unknown }[]>('self:paramtypes', target) ?? [];
  const properties = metadata<{ type: unknown }[]>('self:properties_metadata', target) ?? [];
  return [guard, ...parameters, ...declared.map(({ param }) => param), ...properties.map(({ type }) => type)].some(
    isGuard,
  );
}

/** Finds the routes that RateLimitGuard is applied to. */
export class GuardedRoutes {
  /** True if the guard is global. */
  readonly everywhere: boolean;

  /** @param provided provider of RateLimitGuard, which a test may have replaced */
  constructor(
    config: ApplicationConfig,
    private readonly provided: unknown,
  ) {
    const requestScoped = config.getGlobalRequestGuards().map(({ metatype }) => metatype as unknown);
    this.everywhere = this.includesGuard([...config.getGlobalGuards(), ...requestScoped]);
  }

  /** Returns true if the guard is global or applied to this class or method. */
  has(target: Type<unknown> | Handler): boolean {
    return this.everywhere || this.includesGuard(metadata<unknown[]>('__guards__', target) ?? []);
  }

  private includesGuard(guards: readonly unknown[]): boolean {
    return guards.some((guard) => {
      if (guard === this.provided || guard instanceof RateLimitGuard || usesRateLimitGuard(guard)) return true;
      return typeof guard === 'object' && guard !== null && usesRateLimitGuard(guard.constructor);
    });
  }
}
