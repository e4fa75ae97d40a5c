import type { Type } from '@nestjs/common';
import type { ModuleRef, ModulesContainer } from '@nestjs/core';

/**
 * What the app provides under a class, in whatever module; undefined where no module does. Asking ModuleRef and catching
 * would need the name of an error that Nest does not export, and a bundler that minifies renames it.
 */
export function optionalProvider<T>(modules: ModulesContainer, moduleRef: ModuleRef, token: Type<T>): T | undefined {
  const provided = [...modules.values()].some(({ providers }) => providers.has(token));
  return provided ? moduleRef.get(token, { strict: false }) : undefined;
}
