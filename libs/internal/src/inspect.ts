/**
 * Key of a method of services, `service[INSPECT]()`. It returns what only `luanest/testing` needs. Each service declares the type of the
 * result, so that a change of private fields breaks no test.
 */
export const INSPECT: unique symbol = Symbol('luanest:inspect');

/**
 * Key of a method of services, for `luanest/outbox`. It returns functions that check the parameters of a call that is made later, in any
 * process.
 */
export const OUTBOX: unique symbol = Symbol('luanest:outbox');

/** Key of a property of services, for `luanest/transport`: the ScriptRegistry that runs the scripts of the service. */
export const REGISTRY: unique symbol = Symbol('luanest:registry');

/**
 * Key of a method of services, `service[CONSOLE]()`. It returns what only `luanest/console` needs. Each service declares the type of the
 * result. On a class, the key of its name: the console finds services by it.
 */
export const CONSOLE: unique symbol = Symbol('luanest:console');
