import type { InjectionToken, Provider } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { InvalidOptionError } from './errors';
import { timesProvided } from './handlers';

/**
 * A provider that refuses to boot an app with two of a lib's modules: they would not know of each other's locks, counters
 * or handlers, and Nest would give each module of the app either of them.
 *
 * @param module the module's name, for the error
 * @param service what each `forRoot()` provides
 */
export function importedOnce(module: string, service: InjectionToken): Provider {
  return {
    provide: Symbol(`luanest:${module}-imported-once`),
    inject: [ModulesContainer],
    useFactory: (modules: ModulesContainer): true => {
      const imports = timesProvided(modules, service);
      if (imports < 2) return true;
      throw new InvalidOptionError(
        `${module}.forRoot() is imported ${imports} times. Import it once, in the root module: ` +
          `it is global, so every other module can inject what it provides.`,
      );
    },
  };
}
