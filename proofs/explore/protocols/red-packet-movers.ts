import { voidGrant } from '../../../libs/red-packet/src/activity/activity.scripts';
import { keysOf } from '../../../libs/red-packet/src/buckets/layout';
import {
  confirmTransfer,
  receivePackets,
  sendPackets,
  type SentPackets,
} from '../../../libs/red-packet/src/buckets/bucket.scripts';
import { settlePayout } from '../../../libs/red-packet/src/payouts/payout.scripts';
import { REST_MS } from '../../../libs/red-packet/src/buckets/transfers';
import type { ScriptCall, Step } from '../engine/protocol';
import type { World } from '../engine/world';
import { BUCKETS, layout, type Mover, type PacketState, type Payer } from './red-packet-state';

/** The three steps of a transfer. A process that has nothing in its memory asks for the record of an unfinished one. */
export function moverSteps(state: PacketState, world: World): Step<PacketState>[] {
  return Object.entries(state.movers).flatMap(([actor, mover]): Step<PacketState>[] => {
    const { phase, rounds, sequence, packets } = mover;
    const me = (to: PacketState): Mover => to.movers[actor] as Mover;
    const idle = (to: PacketState): void => void Object.assign(me(to), { phase: 'idle', sequence: '', packets: [] });
    if (phase === 'idle') {
      const steps: Step<PacketState>[] = [];
      for (let from = 0; from < BUCKETS; from++) {
        const to = 1 - from;
        const { meta, pool, moves } = keysOf(layout, from);
        const isBegun = world.read('HEXISTS', moves, `out:${to}`) === 1;
        const begins = rounds > 0 && from === mover.from;
        if (!isBegun && !begins) continue;
        const args = { to, most: begins ? 1 : 0, restMs: REST_MS };
        const done = (next: PacketState, { sent }: { sent: SentPackets | undefined }): void => {
          if (begins) me(next).rounds--;
          if (sent !== undefined)
            Object.assign(me(next), { phase: 'sent', from, sequence: sent.sequence, packets: sent.packets });
        };
        const lost = (next: PacketState): void => {
          if (begins) me(next).rounds--;
        };
        steps.push({
          actor,
          name: `send from ${from}`,
          call: { script: sendPackets, input: { keys: { meta, pool, moves }, args } },
          done,
          lost,
        });
      }
      return steps;
    }
    const to = 1 - mover.from;
    if (phase === 'sent') {
      const { meta, pool, moves, refunds } = keysOf(layout, to);
      const expiresAtMs = world.read('HGET', meta, 'expiresAtMs') as string;
      const args = { from: mover.from, sequence, expiresAtMs, packets };
      const input = { keys: { meta, pool, moves, refunds }, args };
      const done = (next: PacketState, status: string): void => {
        if (status === 'missing') idle(next);
        else me(next).phase = 'received';
      };
      return [{ actor, name: `receive at ${to}`, call: { script: receivePackets, input }, done, lost: idle }];
    }
    const { moves } = keysOf(layout, mover.from);
    const input = { keys: { moves }, args: { to, sequence } };
    return [
      { actor, name: `confirm at ${mover.from}`, call: { script: confirmTransfer, input }, done: idle, lost: idle },
    ];
  });
}

interface Row {
  readonly id: string;
  readonly bucket: number;
  readonly owner: string;
  readonly user: string;
  readonly grant: string;
  readonly packet: string;
  readonly cents: string;
}

function rowsOf(world: World): Row[] {
  const rows: Row[] = [];
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    for (const [id, fields] of world.read('XRANGE', keysOf(layout, bucket).outbox, '-', '+') as [string, string[]][]) {
      const [, owner = '', , user = '', , grant = ''] = fields;
      const [packet = '', cents = ''] = grant.split(':');
      rows.push({ id, bucket, owner, user, grant, packet, cents });
    }
  }
  return rows;
}

/** Reads a row; books it, or finds that the ledger refuses it; then voids the grant, and settles the row. */
export function payerSteps(state: PacketState, world: World): Step<PacketState>[] {
  return Object.entries(state.payers).flatMap(([actor, { phase, row, paid }]): Step<PacketState>[] => {
    const me = (to: PacketState): Payer => to.payers[actor] as Payer;
    if (phase === 'idle' || row === undefined) {
      return rowsOf(world).map(({ id, bucket, owner, user, grant, packet }) => ({
        actor,
        name: `take the payout of packet ${packet} to ${user}`,
        done: (to) => void Object.assign(me(to), { phase: 'paying', row: { id, bucket, owner, user, grant, packet } }),
      }));
    }
    const { id, bucket, owner, user, grant, packet } = row;
    if (phase === 'paying') {
      const book = (to: PacketState): void => {
        const before = Object.keys(to.ledger).find((other) => to.ledger[other] === user);
        const owner = to.ledger[packet];
        if (owner === user) me(to).phase = 'settling';
        else if (owner === undefined && before === undefined) {
          to.ledger[packet] = user;
          me(to).phase = 'settling';
        } else Object.assign(me(to), { phase: 'voiding', paid: owner === undefined ? `${before}:10:1` : '' });
      };
      return [{ actor, name: `book packet ${packet}`, done: book }];
    }
    if (phase === 'voiding') {
      const { meta, grants, voids, refunds } = keysOf(layout, bucket);
      const input = { keys: { meta, grants, voids, refunds }, args: { userId: user, packetId: packet, paid, owner } };
      const done = (to: PacketState): void => void (me(to).phase = 'settling');
      return [
        {
          actor,
          name: `void packet ${packet}`,
          call: { script: voidGrant, input } satisfies ScriptCall,
          done,
          lost: () => undefined,
        },
      ];
    }
    const { outbox, meta } = keysOf(layout, bucket);
    const done = (to: PacketState): void => void Object.assign(me(to), { phase: 'idle', row: undefined, paid: '' });
    const call = { script: settlePayout, input: { keys: { outbox, meta }, args: { rowId: id, owner, user, grant } } };
    return [{ actor, name: `settle the payout of packet ${packet}`, call, done, lost: () => undefined }];
  });
}
