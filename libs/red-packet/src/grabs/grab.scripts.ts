import { defineScript, int, str } from 'luanest/script-registry';
import type { GrabResult, NotOpenReason, Packet } from '../red-packet.types';
import { ACTIVITY_KEYS } from '../buckets/bucket-keys';
import { grabGroupLua, grabLua } from '../scripts/generated';

/**
 * Reply of a bucket (shard of an activity) to a grab. `none-left`: the only bucket is empty, so the activity is sold out. `empty`: this
 * bucket is empty, but there are others. `sharded`: the grab went to the root, which only has the number of buckets, so it must be sent to
 * a bucket. Other replies are also results for the user.
 */
export type BucketReply =
  | Extract<GrabResult, { readonly packet: Packet }>
  | { readonly status: 'none-left' | 'empty' | 'too-many-tries' }
  | { readonly status: 'not-open'; readonly reason: NotOpenReason; readonly opensInMs: number }
  | { readonly status: 'sharded'; readonly buckets: number };

/**
 * Bits of the script's argument `mode`. `confirmed`: WAIT follows the call. `repeated`: an earlier call of the same grab found the bucket
 * empty, so this one does not count for `maxTries`.
 */
export const GRAB_MODE = { confirmed: 1, repeated: 2 } as const;

const WITHOUT_PACKET: Readonly<Record<number, BucketReply>> = {
  [-1]: { status: 'none-left' },
  [-3]: { status: 'empty' },
  [-4]: { status: 'too-many-tries' },
};

function replyOf([code, text]: [number, string]): BucketReply {
  const [word = '', number, at] = text.split(':');
  if (code === 0 || code === 1) {
    const packet = { packetId: word, amountCents: Number(number), grantedAtMs: Number(at) };
    return code === 0 ? { status: 'won', packet } : { status: 'already-won', packet };
  }
  const without = WITHOUT_PACKET[code];
  if (without !== undefined) return without;
  if (word === 'spread') return { status: 'sharded', buckets: Number(number) };
  return { status: 'not-open', reason: word as NotOpenReason, opensInMs: Number(number ?? 0) };
}

// See DECISIONS.md: grab-has-lua-for-groups
export const grabPacket = defineScript({
  name: 'red-packet.grab',
  source: grabLua.source,
  group: { source: grabGroupLua.source },
  keys: [...ACTIVITY_KEYS, 'outbox', 'tries'],
  args: { userId: str, mode: int },
  reply: replyOf,
});

export const grabScripts = [grabPacket];
