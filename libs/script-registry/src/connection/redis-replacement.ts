import type { AnyClient } from './connect';
import type { RedisConnection } from './port';

/** Connection of a ScriptRegistry to another Redis than its options name. */
export interface ReplacedRedis {
  readonly connection: RedisConnection;
  /** Ends the client of the connection; undefined if the app made the client. */
  readonly end?: () => Promise<void>;
  /** Returns the option `deadlineMs` for a call that is made now. @param deadlineMs that of the options */
  readonly deadlineMs: (deadlineMs: number) => number;
}

/**
 * Connects a ScriptRegistry to another Redis.
 *
 * @param registry name of the ScriptRegistry; `default` for the one without a name
 * @param clientOfApp returns the client that the options name; undefined if ScriptRegistry would have made it, or if the app has
 *   no client
 */
export type ReplaceRedis = (
  registry: string,
  clientOfApp: () => AnyClient | undefined,
) => ReplacedRedis | Promise<ReplacedRedis>;

/** Token of a ReplaceRedis for all ScriptRegistries of an app. Only the module of luanest/testing provides it. */
export const REPLACE_REDIS = Symbol('luanest:replace-redis');
