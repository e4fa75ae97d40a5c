import { defineScript, int, str } from 'luanest/script-registry';
import {} from '../../../internal/src';
import type { Grant, Packet } from '../red-packet.types';
import { hashPageLua, luckiestLua, readGrantLua } from '../scripts/generated';

export const readGrant = defineScript({
  name: 'red-packet.read-grant',
  ...readGrantLua,
  keys: ['grants'],
  args: { userId: str },
  flags: ['no-writes'],
  group: false,
  reply: ([grant = '']: string[]): { readonly packet: Packet | undefined; readonly byLedger: boolean } => {
    const [packetId = '', cents, at, byLedger] = grant.split(':');
    const packet = { packetId, amountCents: Number(cents), grantedAtMs: Number(at) };
    return { packet: packetId === '' ? undefined : packet, byLedger: byLedger !== undefined };
  },
});

export const readLuckiest = defineScript({
  name: 'red-packet.luckiest',
  ...luckiestLua,
  keys: ['meta'],
  args: {},
  flags: ['no-writes'],
  group: false,
  reply: ([userId = '', packetId = '', cents, at, lost]: string[]) => ({
    grant: { userId, packetId, amountCents: Number(cents), grantedAtMs: Number(at) },
    lost: lost === '1',
  }),
});

export const readRecords = defineScript({
  name: 'red-packet.records',
  ...hashPageLua,
  keys: ['hash'],
  args: { cursor: str, count: int },
  flags: ['no-writes'],
  group: false,
  reply: ([cursor = '0', ...pairs]: string[]) => {
    const records: Grant[] = [];
    for (let i = 0; i + 1 < pairs.length; i += 2) {
      const [packetId = '', cents, at] = (pairs[i + 1] ?? '').split(':');
      if (pairs[i] !== '')
        records.push({ userId: pairs[i] as string, packetId, amountCents: Number(cents), grantedAtMs: Number(at) });
    }
    return { cursor, records };
  },
});

export const resultScripts = [readGrant, readLuckiest, readRecords];
