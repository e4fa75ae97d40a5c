/** The reply to a command. A string is a bulk string with one character for each byte. */
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

/** A simple string, such as OK. */
export class Status {
  constructor(readonly text: string) {}
}

export const OK = new Status('OK');

/** A number that is a text in RESP2. */
export class Double {
  constructor(readonly value: number) {}
}

/** An array in RESP2. Its class says what it is in RESP3. */
class Items<Item> {
  constructor(readonly items: readonly Item[]) {}
}

/** A map: a flat array in RESP2. */
export class Pairs extends Items<readonly [Reply, Reply]> {
  readonly kind = 'pairs';
}

/** A set: an array in RESP2. */
export class Members extends Items<Reply> {
  readonly kind = 'members';
}

/** An array of arrays in RESP3: a flat array in RESP2. */
export class Rows extends Items<readonly Reply[]> {
  readonly kind = 'rows';
}

/** The rows of XREAD, one for each stream: a map in RESP3, an array of arrays in RESP2. */
export class StreamRows extends Items<readonly [Reply, Reply]> {
  readonly kind = 'stream rows';
}

/** A push of RESP3, such as a message of a channel: an array in RESP2. */
export class Push extends Items<Reply> {
  readonly kind = 'push';
}

/** Nothing: the command has sent its replies itself. */
export class NoReply {
  readonly kind = 'no reply';
}

export const NO_REPLY = new NoReply();

/** Reply of null where the command usually replies with an array. */
export class NullArray {
  readonly kind = 'null array';
}

export const NULL_ARRAY = new NullArray();

/** An error that a command replies with. Its message usually begins with a code, such as ERR. */
export class RedisError extends Error {
  constructor(message: string) {
    super(message.replace(/^[\r\n]+|[\r\n]+$/g, '').replace(/[\r\n]/g, ' '));
  }
}

/** Returns a text up to its first zero byte, as C writes it into errors. */
export function shownText(text: string): string {
  return text.split('\0', 1)[0] ?? '';
}

export const SYNTAX_ERROR = 'ERR syntax error';
export const NOT_AN_INTEGER = 'ERR value is not an integer or out of range';
export const NOT_A_FLOAT = 'ERR value is not a valid float';
export const WRONG_TYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value';

/** Returns the error for what this server lacks, with the remedy. */
export function unsupported(what: string): RedisError {
  return new RedisError(
    `ERR MemoryRedis does not support ${what}. Test this code with a server of luanest/testing/servers`,
  );
}

export function refuse(message: string): never {
  throw new RedisError(message);
}
