import { scoreText } from './numbers';
import { Double, NoReply, NullArray, RedisError, Status, type Reply } from './reply';
import { flat } from './resp';

/** An error reply. Error replies of ioredis have the same `name`. */
class ReplyError extends Error {
  override readonly name = 'ReplyError';
}

/** Converts a reply to the value that a client of ioredis with RESP2 returns. An error reply becomes a ReplyError, which is not thrown. */
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

/** Converts a string of bytes (each character is one byte) to a Buffer. */
export function toBuffer(bytes: string): Buffer {
  return Buffer.from(bytes, 'latin1');
}

/** Decodes UTF-8. @param bytes a string of which each character is one byte */
export function fromBytes(bytes: string): string {
  return isAscii(bytes) ? bytes : toBuffer(bytes).toString();
}

/** Converts an argument of a command to a string of which each character is one byte. */
export function toBytes(arg: string | number | Buffer): string {
  if (typeof arg === 'number') return String(arg);
  if (typeof arg !== 'string') return arg.toString('latin1');
  return isAscii(arg) ? arg : Buffer.from(arg).toString('latin1');
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return false;
  return true;
}
