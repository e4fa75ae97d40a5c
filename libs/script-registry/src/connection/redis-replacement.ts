import type { AnyClient } from './connect';
import type { RedisConnection } from './port';

/** Connection to another Redis than the one in the options, such as the in-memory Redis of luanest/testing. */
export interface ReplacedRedis {
  readonly connection: RedisConnection;
  /** Closes the client of this connection. Undefined if the app created the client. */
  readonly end?: () => Promise<void>;
  /** Returns the deadline for a call that is made now, ms. @param deadlineMs value of the option `deadlineMs` of ScriptRegistry */
  readonly deadlineMs: (deadlineMs: number) => number;
}

/**
 * Connects a ScriptRegistry to another Redis than the one in its options. Used by luanest/testing.
 *
 * @param registry name of the ScriptRegistry; `default` for the one without a name
 * @param clientOfApp returns the client that the app has created; undefined if ScriptRegistry creates the client
 */
export type ReplaceRedis = (
  registry: string,
  clientOfApp: () => AnyClient | undefined,
) => ReplacedRedis | Promise<ReplacedRedis>;

/** Injection token of a function that connects all ScriptRegistries of an app to another Redis. Only luanest/testing provides it. */
export const REPLACE_REDIS = Symbol('luanest:replace-redis');
