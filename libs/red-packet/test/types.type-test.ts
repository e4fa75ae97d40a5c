// Compiled, never run: each `@ts-expect-error` fails the type check when the line below it compiles.
import type { RedPacketService } from 'luanest/red-packet';

export function keepsItsPartsToItself(packets: RedPacketService): readonly unknown[] {
  return [
    // @ts-expect-error how payout runs find activities is not public
    packets.index,
    // @ts-expect-error closing the wakes would delay payouts
    packets.wakes,
  ];
}
