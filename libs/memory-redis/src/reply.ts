/** The reply to a command. A JavaScript string is a bulk string of RESP; each of its characters is one byte. */
export type Reply =
  | string
  | number
  | bigint
  | null
  | Status
  | Double
  | Pairs
  | Members
  | Rows
  | StreamRows
  | RedisError
  | NullArray
  | Push
  | NoReply
  | readonly Reply[];

/** A simple string of RESP, such as OK. */
export class Status {
  constructor(readonly text: string) {}
}

export const OK = new Status('OK');

/** A floating-point number. In RESP2 it is sent as a string. */
export class Double {
  constructor(readonly value: number) {}
}

/** Base of the replies that are arrays in RESP2. The subclass decides what RESP3 sends. */
class Items<Item> {
  constructor(readonly items: readonly Item[]) {}
}

/** A map. In RESP2 it is sent as a flat array of keys and values. */
export class Pairs extends Items<readonly [Reply, Reply]> {
  readonly kind = 'pairs';
}

/** A set. In RESP2 it is sent as an array. */
export class Members extends Items<Reply> {
  readonly kind = 'members';
}

/** Rows, such as members with their scores. RESP3 sends an array of arrays, RESP2 one flat array. */
export class Rows extends Items<readonly Reply[]> {
  readonly kind = 'rows';
}

/** The reply of XREAD: one row for each stream. RESP3 sends a map, RESP2 an array of arrays. */
export class StreamRows extends Items<readonly [Reply, Reply]> {
  readonly kind = 'stream rows';
}

/** A push message of RESP3, such as a message of a channel. In RESP2 it is sent as an array. */
export class Push extends Items<Reply> {
  readonly kind = 'push';
}

/** No reply, because the command has sent its replies itself through `Session.send`. */
export class NoReply {
  readonly kind = 'no reply';
}

export const NO_REPLY = new NoReply();

/** The reply null of a command that usually replies with an array. RESP2 has a null array of its own. */
export class NullArray {
  readonly kind = 'null array';
}

export const NULL_ARRAY = new NullArray();

/** An error reply. Its message usually begins with an error code, such as ERR. */
export class RedisError extends Error {
  constructor(message: string) {
    super(message.replace(/^[\r\n]+|[\r\n]+$/g, '').replace(/[\r\n]/g, ' '));
  }
}

/** Returns the text before the first zero byte. Redis is written in C, and its error messages show a text only up to there. */
export function shownText(text: string): string {
  return text.split('\0', 1)[0] ?? '';
}

export const SYNTAX_ERROR = 'ERR syntax error';
export const NOT_AN_INTEGER = 'ERR value is not an integer or out of range';
export const NOT_A_FLOAT = 'ERR value is not a valid float';
export const WRONG_TYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value';

/** Returns the error for a feature that MemoryRedis does not have. Its message has a remedy. */
export function unsupported(what: string): RedisError {
  return new RedisError(
    `ERR MemoryRedis does not support ${what}. Test this code with a server of luanest/testing/servers`,
  );
}

export function refuse(message: string): never {
  throw new RedisError(message);
}
