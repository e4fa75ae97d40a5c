import { common, defineScript, int, str } from 'luanest/script-registry';
import type { GrabResult, NotOpenReason, Packet } from '../red-packet.types';
import { ACTIVITY_KEYS } from '../buckets/bucket-keys';
import { grabLua } from '../scripts/generated';

/** What a bucket says to a grab: a packet is the answer to the user already. */
export type BucketAnswer =
  | Extract<GrabResult, { readonly packet: Packet }>
  | { readonly outcome: 'none-left' | 'empty' | 'tries-used-up' }
  | { readonly outcome: 'shut'; readonly reason: NotOpenReason; readonly changesInMs: number }
  | { readonly outcome: 'spread'; readonly buckets: number };

/** Bits of the `mode` that a grab is sent with. */
export const GRAB_MODE = { confirmed: 1, goesOn: 2 } as const;

const WITHOUT_PACKET: Readonly<Record<number, BucketAnswer>> = {
  [-1]: { outcome: 'none-left' },
  [-3]: { outcome: 'empty' },
  [-4]: { outcome: 'tries-used-up' },
};

export const grabPacket = defineScript({
  name: 'red-packet.grab',
  ...grabLua,
  keys: [...ACTIVITY_KEYS, 'tries'],
  args: { userId: str, mode: common(int) },
  timed: true,
  reply: ([code, text]: [number, string], nowUs: number): BucketAnswer => {
    // Wins are what there are most of, and a split makes an array for each.
    if (code === 0) {
      const colon = text.indexOf(':');
      const packet = {
        packetId: text.slice(0, colon),
        amountCents: Number(text.slice(colon + 1)),
        grantedAtMs: Math.floor(nowUs / 1_000),
      };
      return { code: '0', outcome: 'won', packet };
    }
    const [word = '', figure, at] = text.split(':');
    if (code === 1) {
      const packet = { packetId: word, amountCents: Number(figure), grantedAtMs: Number(at) };
      return { code: '1', outcome: 'already-won', packet };
    }
    const without = WITHOUT_PACKET[code];
    if (without !== undefined) return without;
    if (word === 'spread') return { outcome: 'spread', buckets: Number(figure) };
    return { outcome: 'shut', reason: word as NotOpenReason, changesInMs: Number(figure ?? 0) };
  },
});

/** What a grab runs. */
export const grabScripts = [grabPacket];
