/**
 * Name of the method that services have for `luanest/testing`. A symbol keeps the method out of the public API, and tests then do not read
 * private fields.
 */
export const INSPECT: unique symbol = Symbol('luanest:inspect');

/**
 * Name of the method that services have for `luanest/outbox`. The method returns functions that check the parameters of a call that an
 * outbox will make later, perhaps in another process.
 */
export const OUTBOX: unique symbol = Symbol('luanest:outbox');

/**
 * Name of the property that services have for `luanest/transport`. Its value is the ScriptRegistry that runs the scripts of the service.
 */
export const REGISTRY: unique symbol = Symbol('luanest:registry');

/**
 * Name of the method that services have for `luanest/console`. A symbol keeps the method out of the public API. On the class of a
 * service, it is the name of the property that holds the name of the service, because a bundler may change the name of the class.
 */
export const CONSOLE: unique symbol = Symbol('luanest:console');
