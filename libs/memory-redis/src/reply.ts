/** Reply to a command. A JavaScript string is a bulk string of RESP; each character stands for one byte. */
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

/** Base class for replies that are arrays in RESP2. Each subclass decides what RESP3 sends. */
class Items<Item> {
  constructor(readonly items: readonly Item[]) {}
}

/** Reply that is a map in RESP3, and a flat array of keys and values in RESP2. */
export class Pairs extends Items<readonly [Reply, Reply]> {
  readonly kind = 'pairs';
}

/** Reply that is a set in RESP3, and an array in RESP2. */
export class Members extends Items<Reply> {
  readonly kind = 'members';
}

/** Reply with rows, such as members with their scores: an array of arrays in RESP3, a flat array in RESP2. */
export class Rows extends Items<readonly Reply[]> {
  readonly kind = 'rows';
}

/** Reply of XREAD, one row per stream: a map in RESP3, an array of arrays in RESP2. */
export class StreamRows extends Items<readonly [Reply, Reply]> {
  readonly kind = 'stream rows';
}

/** Push message of RESP3, such as a Pub/Sub message; an array in RESP2. */
export class Push extends Items<Reply> {
  readonly kind = 'push';
}

/** Stands for no reply, because the command has sent its replies itself with `Session.send`. */
export class NoReply {
  readonly kind = 'no reply';
}

export const NO_REPLY = new NoReply();

/** Null instead of an array. RESP2 has a special null for this. */
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

/** Returns the text before the first zero byte. Redis is written in C, so its error messages show no more of an argument. */
export function shownText(text: string): string {
  return text.split('\0', 1)[0] ?? '';
}

export const SYNTAX_ERROR = 'ERR syntax error';
export const NOT_AN_INTEGER = 'ERR value is not an integer or out of range';
export const NOT_A_FLOAT = 'ERR value is not a valid float';
export const WRONG_TYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value';

/** Returns the error for a feature that MemoryRedis does not have. The message says what to do instead. */
export function unsupported(what: string): RedisError {
  return new RedisError(
    `ERR MemoryRedis does not support ${what}. Test this code with a server of luanest/testing/servers`,
  );
}

export function refuse(message: string): never {
  throw new RedisError(message);
}
