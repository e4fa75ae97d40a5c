import type { AnyClient } from './connect';
import type { RedisConnection } from './port';

/** Connection of a ScriptRegistry to a Redis that replaces the one in its options. Used by luanest/testing. */
export interface ReplacedRedis {
  readonly connection: RedisConnection;
  /** Ends the client of the connection. Undefined if the app created the client. */
  readonly end?: () => Promise<void>;
  /** Returns the `deadlineMs` to use for a call that is made now. @param deadlineMs the value of the option */
  readonly deadlineMs: (deadlineMs: number) => number;
}

/**
 * Function that connects a ScriptRegistry to a Redis that replaces the one in its options.
 *
 * @param registry name of the ScriptRegistry; `default` for the one without a name
 * @param clientOfApp returns the client of the app; undefined if the app has no client, or if the options make ScriptRegistry create the
 *   client
 */
export type ReplaceRedis = (
  registry: string,
  clientOfApp: () => AnyClient | undefined,
) => ReplacedRedis | Promise<ReplacedRedis>;

/** Token of a ReplaceRedis for all ScriptRegistries of an app. Only the module of luanest/testing provides it. */
export const REPLACE_REDIS = Symbol('luanest:replace-redis');
