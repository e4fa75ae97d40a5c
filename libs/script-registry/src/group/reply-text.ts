import type { ScriptReply } from '../script-definition';

/**
 * Converts the Buffers of a reply to text, in the same arrays. ioredis would copy every array and check every integer in it.
 * See DECISIONS.md: replies-read-as-bytes
 */
export function asText(reply: unknown): unknown {
  if (Buffer.isBuffer(reply)) return reply.toString();
  if (!Array.isArray(reply)) return reply;
  for (let i = 0; i < reply.length; i++) if (typeof reply[i] !== 'number') reply[i] = asText(reply[i]);
  return reply;
}

const INTEGER_TAG = 'i'.charCodeAt(0);
const NULL_TAG = 'n'.charCodeAt(0);

/** Removes the tags by which TAG_LUA marks integers, strings and null for a client with `stringNumbers`. */
export function untag(reply: ScriptReply | Buffer): ScriptReply {
  if (Array.isArray(reply)) return reply.map(untag);
  if (Buffer.isBuffer(reply)) {
    if (reply[0] === INTEGER_TAG) return Number(reply.toString('latin1', 1));
    return reply[0] === NULL_TAG ? null : (reply.subarray(1) as never);
  }
  if (typeof reply !== 'string') return reply;
  const text = reply.slice(1);
  return reply.startsWith('i') ? Number(text) : reply.startsWith('n') ? null : text;
}
