import { scoreText } from './numbers';
import { Double, NoReply, NullArray, RedisError, Status, type Reply } from './reply';
import { flat } from './resp';

/** An error reply. It has the name that errors of ioredis have. */
class ReplyError extends Error {
  override readonly name = 'ReplyError';
}

/** Returns what a client of ioredis with RESP2 returns for a reply. Errors are ReplyErrors. */
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

/** Returns bytes, of which each is one character, as a Buffer. */
export function toBuffer(bytes: string): Buffer {
  return Buffer.from(bytes, 'latin1');
}

/** Returns the text of UTF-8 bytes, of which each is one character. */
export function fromBytes(bytes: string): string {
  return isAscii(bytes) ? bytes : toBuffer(bytes).toString();
}

/** Returns an argument of a command as its bytes, each as one character. */
export function toBytes(arg: string | number | Buffer): string {
  if (typeof arg === 'number') return String(arg);
  if (typeof arg !== 'string') return arg.toString('latin1');
  return isAscii(arg) ? arg : Buffer.from(arg).toString('latin1');
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return false;
  return true;
}
