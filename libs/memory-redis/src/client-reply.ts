import { scoreText } from './numbers';
import { Double, NoReply, NullArray, RedisError, Status, type Reply } from './reply';
import { flat } from './resp';

/** An error reply, with the same `name` as the error replies of ioredis. */
class ReplyError extends Error {
  override readonly name = 'ReplyError';
}

/** Converts a reply to the value that ioredis returns with RESP2. An error reply becomes a ReplyError, which is returned, not thrown. */
export function clientReply(reply: Reply, textOf: (bytes: string) => unknown): unknown {
  if (typeof reply === 'string') return textOf(reply);
  if (typeof reply === 'number' || reply === null) return reply;
  if (typeof reply === 'bigint') return Number(reply);
  if (reply instanceof Status) return textOf(reply.text);
  if (reply instanceof RedisError) return new ReplyError(fromBytes(reply.message));
  if (reply instanceof Double) return textOf(scoreText(reply.value));
  if (reply instanceof NullArray || reply instanceof NoReply) return null;
  return flat(reply).map((item) => clientReply(item, textOf));
}

/** Converts a byte string to a Buffer. A byte string is a string in which each character stands for one byte. */
export function toBuffer(bytes: string): Buffer {
  return Buffer.from(bytes, 'latin1');
}

/** Decodes a byte string as UTF-8. @param bytes string in which each character stands for one byte */
export function fromBytes(bytes: string): string {
  return isAscii(bytes) ? bytes : toBuffer(bytes).toString();
}

/** Converts an argument of a command to a byte string, in which each character stands for one byte. */
export function toBytes(arg: string | number | Buffer): string {
  if (typeof arg === 'number') return String(arg);
  if (typeof arg !== 'string') return arg.toString('latin1');
  return isAscii(arg) ? arg : Buffer.from(arg).toString('latin1');
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return false;
  return true;
}
