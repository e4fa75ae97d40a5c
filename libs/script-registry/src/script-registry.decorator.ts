import { Inject } from '@nestjs/common';
import { ScriptRegistry } from './script-registry.service';

/**
 * Returns the injection token of a ScriptRegistry. For the default ScriptRegistry, this is the class itself.
 *
 * @param name the name that `forRoot` got
 */
export function getScriptRegistryToken(name?: string): string | typeof ScriptRegistry {
  return name === undefined ? ScriptRegistry : `luanest:script-registry:${name}`;
}

/** Injects a ScriptRegistry. @param name the name that `forRoot` got; default: the default ScriptRegistry */
export function InjectScriptRegistry(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getScriptRegistryToken(name));
}
