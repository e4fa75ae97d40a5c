// Compiled, never run: each `@ts-expect-error` fails the type check when the line below it compiles.
import type { RedPacketService } from 'luanest/red-packet';

export function keepsItsPartsToItself(packets: RedPacketService): readonly unknown[] {
  return [
    // @ts-expect-error the list of activities is not public
    packets.list,
    // @ts-expect-error the layouts are not public
    packets.layouts,
  ];
}
