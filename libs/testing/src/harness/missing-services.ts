import type { ModulesContainer } from '@nestjs/core';
import { neededServices, type NeededService, type Wrapper } from '../../../internal/src';
import { TestingSetupError } from '../testing.errors';

/**
 * Refuses an app with a decorated class, guard or interceptor that has no service of luanest. In production Nest would not boot
 * it; after `import 'luanest/testing'` it would run as if it had no decorator.
 *
 * @throws TestingSetupError
 */
export function refuseMissingServices(modules: ModulesContainer): void {
  const all = [...modules.values()];
  const provides = ({ service }: NeededService): boolean => all.some(({ providers }) => providers.has(service));
  const missing = new Set<string>();
  for (const { providers, controllers, injectables } of all) {
    for (const wrapper of [...providers.values(), ...controllers.values(), ...injectables.values()]) {
      const instance: unknown = wrapper.instance;
      if (typeof instance !== 'object' || instance === null) continue;
      const has = (need: NeededService): boolean =>
        isInjected(wrapper) ? (instance as Record<symbol, unknown>)[need.property] !== undefined : provides(need);
      for (const need of neededServices(instance)) if (!has(need)) missing.add(need.text);
    }
  }
  if (missing.size === 0) return;
  throw new TestingSetupError(
    `LuanestTestingModule.forApp: ${[...missing].join('; ')}. The app does not import that, or not where the class can see it, ` +
      'so it would not boot in production. Import the module into the app.',
  );
}

/** Returns true for the one instance of a class that Nest creates, into which it injects properties. */
function isInjected(wrapper: Wrapper): boolean {
  const { inject, metatype } = wrapper;
  // A factory is a `metatype`, too.
  if (inject || wrapper.isAlias || wrapper.isTransient || !wrapper.isDependencyTreeStatic()) return false;
  return typeof metatype === 'function' && wrapper.instance instanceof metatype;
}
