import type { Type } from '@nestjs/common';
import type { ModuleRef, ModulesContainer } from '@nestjs/core';

/**
 * Returns the app's provider of a class, from any module; undefined if there is none. Catching the error of ModuleRef instead
 * would need the name of a class that Nest does not export, and minifying bundlers rename it.
 */
export function optionalProvider<T>(modules: ModulesContainer, moduleRef: ModuleRef, token: Type<T>): T | undefined {
  const provided = [...modules.values()].some(({ providers }) => providers.has(token));
  return provided ? moduleRef.get(token, { strict: false }) : undefined;
}
