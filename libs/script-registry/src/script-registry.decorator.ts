import { Inject } from '@nestjs/common';
import { ScriptRegistryHealthIndicator } from './script-registry.health';
import { ScriptRegistry } from './script-registry.service';

/** Returns the injection token of a registry; for the default registry it is the class. @param name as given to `forRoot` */
export function getScriptRegistryToken(name?: string): string | typeof ScriptRegistry {
  return name === undefined ? ScriptRegistry : `luanest:script-registry:${name}`;
}

/** Returns the injection token of a registry's health indicator; for the default registry it is the class. @param name as given to `forRoot` */
export function getScriptRegistryHealthToken(name?: string): string | typeof ScriptRegistryHealthIndicator {
  return name === undefined ? ScriptRegistryHealthIndicator : `luanest:script-registry-health:${name}`;
}

/** Injects a registry. @param name as given to `forRoot`; default: the default registry */
export function InjectScriptRegistry(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getScriptRegistryToken(name));
}
