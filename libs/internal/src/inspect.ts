/**
 * Name of the method that services have for `luanest/testing`. A symbol keeps the method out of the public API, and tests then do not read
 * private fields.
 */
export const INSPECT: unique symbol = Symbol('luanest:inspect');

/**
 * Name of the method that services have for `luanest/outbox`, which stores a call in a database and makes it later, perhaps in another
 * process. The method returns functions that check the parameters of the call before it is stored.
 */
export const OUTBOX: unique symbol = Symbol('luanest:outbox');

/** Name of the method that services have for `luanest/transport`. It returns what a client and a server of Nest microservices need. */
export const TRANSPORT: unique symbol = Symbol('luanest:transport');

/**
 * Name of the method that services have for `luanest/console`. A symbol keeps the method out of the public API. The class of a service has
 * a static property with the same symbol. Its value is the name of the service, because a bundler may change the name of the class.
 */
export const CONSOLE: unique symbol = Symbol('luanest:console');
