import type { Type } from '@nestjs/common';
import type { ApplicationConfig } from '@nestjs/core';
import { RateLimitGuard } from '../rate-limit.guard';
import { metadata, type Handler } from './route-names';

/** Returns true for RateLimitGuard, for a subclass, and for a class that injects one of these. */
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

export class GuardedRoutes {
  readonly everywhere: boolean;

  /** @param provided the object that Nest injects as RateLimitGuard. Tests may replace it by another object */
  constructor(
    config: ApplicationConfig,
    private readonly provided: unknown,
  ) {
    const requestScoped = config.getGlobalRequestGuards().map(({ metatype }) => metatype as unknown);
    this.everywhere = this.includesGuard([...config.getGlobalGuards(), ...requestScoped]);
  }

  has(target: Type<unknown> | Handler): boolean {
    return this.everywhere || this.declares(target);
  }

  /** Returns true if the guard is bound to this class or method itself. */
  declares(target: Type<unknown> | Handler): boolean {
    return this.includesGuard(metadata<unknown[]>('__guards__', target) ?? []);
  }

  private includesGuard(guards: readonly unknown[]): boolean {
    return guards.some((guard) => {
      if (guard === this.provided || guard instanceof RateLimitGuard || usesRateLimitGuard(guard)) return true;
      return typeof guard === 'object' && guard !== null && usesRateLimitGuard(guard.constructor);
    });
  }
}
