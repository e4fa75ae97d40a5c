/**
 * Name of the method with which a service shows `luanest/testing` what it needs and no caller does: `service[INSPECT]()`. Each
 * service gives the method a type, so that a change of private fields breaks no test.
 */
export const INSPECT: unique symbol = Symbol('luanest:inspect');

/**
 * Name of the method with which a service gives `luanest/outbox` what it needs: checks of a call that is made later, in any process.
 */
export const OUTBOX: unique symbol = Symbol('luanest:outbox');

/** Name of the property with which a service gives `luanest/transport` the ScriptRegistry that runs its scripts. */
export const REGISTRY: unique symbol = Symbol('luanest:registry');

/**
 * Name of the method with which a service gives `luanest/console` what it needs and no caller does: `service[CONSOLE]()`. Each service
 * gives the method a type.
 */
export const CONSOLE: unique symbol = Symbol('luanest:console');
