import type { Type } from '@nestjs/common';
import type { ApplicationConfig } from '@nestjs/core';
import { RateLimitGuard } from '../rate-limit.guard';
import { metadata, type Handler } from './route-names';

/** Returns true for RateLimitGuard, a class that extends it, and one that injects it to ask it itself. */
function limits(guard: unknown): boolean {
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

/** Knows which routes RateLimitGuard is on. */
export class GuardedRoutes {
  /** True where it is on every route. */
  readonly everywhere: boolean;

  /** @param provided what the app injects as RateLimitGuard, which a test may have replaced */
  constructor(
    config: ApplicationConfig,
    private readonly provided: unknown,
  ) {
    const requestScoped = config.getGlobalRequestGuards().map(({ metatype }) => metatype as unknown);
    this.everywhere = this.among([...config.getGlobalGuards(), ...requestScoped]);
  }

  /** Whether the guard is on a class, or on a method. */
  has(target: Type<unknown> | Handler): boolean {
    return this.everywhere || this.among(metadata<unknown[]>('__guards__', target) ?? []);
  }

  private among(guards: readonly unknown[]): boolean {
    return guards.some((guard) => {
      if (guard === this.provided || guard instanceof RateLimitGuard || limits(guard)) return true;
      return typeof guard === 'object' && guard !== null && limits(guard.constructor);
    });
  }
}
