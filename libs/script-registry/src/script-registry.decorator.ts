import { Inject } from '@nestjs/common';
import { ScriptRegistryHealthIndicator } from './script-registry.health';
import { ScriptRegistry } from './script-registry.service';

/** Injection token of a registry: the class for the default one. @param name as given to `forRoot` */
export function getScriptRegistryToken(name?: string): string | typeof ScriptRegistry {
  return name === undefined ? ScriptRegistry : `luanest:script-registry:${name}`;
}

/** Injection token of a registry's health indicator: the class for the default one. @param name as given to `forRoot` */
export function getScriptRegistryHealthToken(name?: string): string | typeof ScriptRegistryHealthIndicator {
  return name === undefined ? ScriptRegistryHealthIndicator : `luanest:script-registry-health:${name}`;
}

/** Injects a registry. @param name as given to `forRoot`; default: the default registry */
export function InjectScriptRegistry(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getScriptRegistryToken(name));
}
