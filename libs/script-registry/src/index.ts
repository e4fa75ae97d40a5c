export type { Page } from '../../internal/src';
export { bytes, int, list, str } from './arg-types';
export {
  type ChannelEvents,
  type ChannelSubscriber,
  CommandFailure,
  type DedicatedConnection,
  type Receiver,
  type RedisCommand,
  type RedisConnection,
  type RedisNode,
} from './connection/port';
export { defineScript } from './define-script';
export { KeySpace } from './key-space';
export type { ScriptDefinition, ScriptInput } from './script-definition';
export { getScriptRegistryToken, InjectScriptRegistry } from './script-registry.decorator';
export {
  ClosedError,
  InvalidInputError,
  LostError,
  LuanestError,
  NotReplicatedError,
  NotSentError,
  ScriptFailedError,
  ScriptRefusedError,
  TimeoutError,
  UnknownOutcomeError,
} from './script-registry.errors';
export { ScriptRegistryEvents } from './script-registry.events';
export { ScriptRegistryHealthIndicator } from './script-registry.health';
export { ScriptRegistryModule } from './script-registry.module';
export type { ScriptRegistryModuleOptions } from './script-registry.options';
export { ScriptRegistry } from './script-registry.service';
