import { common, defineScript, int, str } from 'luanest/script-registry';
import type { GrabResult, NotOpenReason, Packet } from '../red-packet.types';
import { grabLua, sharedClockLua, sharedFinishGrabLua, sharedGrantingLua } from '../scripts/generated';
import { ACTIVITY_KEYS } from '../scripts/parts.scripts';

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
  source: grabLua,
  shared: sharedClockLua + sharedGrantingLua,
  finish: sharedFinishGrabLua,
  keys: [...ACTIVITY_KEYS, 'tries'],
  args: { userId: str, mode: common(int) },
  timed: true,
  reply: ([code, text]: [number, string], nowUs: number): BucketAnswer => {
    const [word = '', figure, at] = text.split(':');
    if (code >= 0) {
      const amountCents = Number(figure);
      if (code === 0) {
        return {
          code: '0',
          outcome: 'won',
          packet: { packetId: word, amountCents, grantedAtMs: Math.floor(nowUs / 1_000) },
        };
      }
      return { code: '1', outcome: 'already-won', packet: { packetId: word, amountCents, grantedAtMs: Number(at) } };
    }
    const without = WITHOUT_PACKET[code];
    if (without !== undefined) return without;
    if (word === 'spread') return { outcome: 'spread', buckets: Number(figure) };
    return { outcome: 'shut', reason: word as NotOpenReason, changesInMs: Number(figure ?? 0) };
  },
});

/** What a grab runs. */
export const grabScripts = [grabPacket];
