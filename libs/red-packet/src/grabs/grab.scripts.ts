import { common, defineScript, int, str } from 'luanest/script-registry';
import { ALONE } from '../../../internal/src';
import type { GrabResult, NotOpenReason, Packet } from '../red-packet.types';
import { ACTIVITY_KEYS } from '../buckets/bucket-keys';
import { grabAloneLua, grabLua } from '../scripts/generated';

/**
 * Reply of a bucket to a grab. A reply with a packet is also the result for the user. `none-left`: the only bucket is empty, so
 * the activity is sold out. `empty`: this bucket is empty, and there are others. `sharded`: the key is that of a root, which
 * knows the number of buckets.
 */
export type BucketReply =
  | Extract<GrabResult, { readonly packet: Packet }>
  | { readonly outcome: 'none-left' | 'empty' | 'too-many-tries' }
  | { readonly outcome: 'not-open'; readonly reason: NotOpenReason; readonly opensInMs: number }
  | { readonly outcome: 'sharded'; readonly buckets: number };

/**
 * Bits of the script's `mode`. `confirmed`: WAIT follows the call. `repeated`: an earlier call of the same grab found the bucket
 * empty, so this call does not count as a try.
 */
export const GRAB_MODE = { confirmed: 1, repeated: 2 } as const;

const WITHOUT_PACKET: Readonly<Record<number, BucketReply>> = {
  [-1]: { outcome: 'none-left' },
  [-3]: { outcome: 'empty' },
  [-4]: { outcome: 'too-many-tries' },
};

/** Converts a reply. @param nowUs Redis' time of the call, µs since 1970 */
function replyOf([code, text]: [number, string], nowUs: number): BucketReply {
  // Speed: while packets are left, most calls win. This branch avoids the array that split() makes.
  if (code === 0) {
    const colon = text.indexOf(':');
    const packet = {
      packetId: text.slice(0, colon),
      amountCents: Number(text.slice(colon + 1)),
      grantedAtMs: Math.floor(nowUs / 1_000),
    };
    return { code: '0', outcome: 'won', packet };
  }
  const [word = '', number, at] = text.split(':');
  if (code === 1) {
    const packet = { packetId: word, amountCents: Number(number), grantedAtMs: Number(at) };
    return { code: '1', outcome: 'already-won', packet };
  }
  const without = WITHOUT_PACKET[code];
  if (without !== undefined) return without;
  if (word === 'spread') return { outcome: 'sharded', buckets: Number(number) };
  return { outcome: 'not-open', reason: word as NotOpenReason, opensInMs: Number(number ?? 0) };
}

export const grabPacket = defineScript({
  name: 'red-packet.grab',
  ...grabLua,
  keys: [...ACTIVITY_KEYS, 'tries'],
  args: { userId: str, mode: common(int) },
  timed: true,
  reply: replyOf,
});

// See DECISIONS.md: few-grabs-go-alone
/** Same as `grabPacket`, for a call that is not sent in a group. Costs Redis less, but more than a share of a group. */
export const grabAlone = defineScript({
  name: 'red-packet.grab-alone',
  ...grabAloneLua,
  keys: [...ACTIVITY_KEYS, 'tries'],
  args: { userId: str, mode: int },
  timed: true,
  group: ALONE,
  reply: replyOf,
});

/** Scripts of a grab, for the list of all scripts. */
export const grabScripts = [grabPacket, grabAlone];
