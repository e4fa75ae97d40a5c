import { Inject } from '@nestjs/common';
import { ScriptRegistryHealthIndicator } from './script-registry.health';
import { ScriptRegistry } from './script-registry.service';

/**
 * Returns the injection token of a ScriptRegistry. For the default ScriptRegistry, this is the class itself.
 *
 * @param name the name that `forRoot` got
 */
export function getScriptRegistryToken(name?: string): string | typeof ScriptRegistry {
  return name === undefined ? ScriptRegistry : `luanest:script-registry:${name}`;
}

/**
 * Returns the injection token of the health indicator of a ScriptRegistry. For the default ScriptRegistry, this is the class
 * ScriptRegistryHealthIndicator.
 *
 * @param name the name that `forRoot` got
 */
export function getScriptRegistryHealthToken(name?: string): string | typeof ScriptRegistryHealthIndicator {
  return name === undefined ? ScriptRegistryHealthIndicator : `luanest:script-registry-health:${name}`;
}

/** Injects a ScriptRegistry. @param name the name that `forRoot` got; default: the default ScriptRegistry */
export function InjectScriptRegistry(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getScriptRegistryToken(name));
}
