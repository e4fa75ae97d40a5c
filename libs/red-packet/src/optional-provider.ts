import type { Type } from '@nestjs/common';
import type { ModuleRef, ModulesContainer } from '@nestjs/core';

/**
 * Returns the app's provider of a class, from any module; undefined if there is none. ModuleRef.get() throws for a missing provider, and
 * Nest does not export the class of that error. So this function does not catch it, but searches the modules first.
 */
export function optionalProvider<T>(modules: ModulesContainer, moduleRef: ModuleRef, token: Type<T>): T | undefined {
  const provided = [...modules.values()].some(({ providers }) => providers.has(token));
  return provided ? moduleRef.get(token, { strict: false }) : undefined;
}
