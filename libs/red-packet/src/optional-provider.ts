import type { Type } from '@nestjs/common';
import type { ModuleRef, ModulesContainer } from '@nestjs/core';

/**
 * Returns the app's provider of a class, from any module; undefined if there is none. ModuleRef.get() would throw an error for a missing
 * provider, whose class Nest does not export, so the modules are searched first.
 */
export function optionalProvider<T>(modules: ModulesContainer, moduleRef: ModuleRef, token: Type<T>): T | undefined {
  const provided = [...modules.values()].some(({ providers }) => providers.has(token));
  return provided ? moduleRef.get(token, { strict: false }) : undefined;
}
