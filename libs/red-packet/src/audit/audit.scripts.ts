import { defineScript, int, str } from 'luanest/script-registry';
import { hashPageLua, listPageLua, outboxPageLua } from '../scripts/generated';

export const readListPage = defineScript({
  name: 'red-packet.list-page',
  ...listPageLua,
  keys: ['packets'],
  args: { from: int, count: int },
  flags: ['no-writes'],
  group: false,
  reply: (entries: string[]) => entries,
});

export const readHashPage = defineScript({
  name: 'red-packet.hash-page',
  ...hashPageLua,
  keys: ['hash'],
  args: { cursor: str, count: int },
  flags: ['no-writes'],
  group: false,
  reply: ([cursor = '0', ...pairs]: string[]) => {
    const fields: [string, string][] = [];
    for (let i = 0; i + 1 < pairs.length; i += 2) fields.push([pairs[i] as string, pairs[i + 1] as string]);
    return { cursor, fields };
  },
});

export const readOutboxPage = defineScript({
  name: 'red-packet.outbox-page',
  ...outboxPageLua,
  keys: ['outbox'],
  args: { owner: str, after: str, count: int },
  flags: ['no-writes'],
  group: false,
  reply: ([last = '', ...fields]: string[]) => {
    const rows: { userId: string; packetId: string; amountCents: number }[] = [];
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const [packetId = '', cents] = (fields[i + 1] ?? '').split(':');
      const userId = fields[i] ?? '';
      rows.push({ userId, packetId, amountCents: Number(cents) });
    }
    return { last, rows };
  },
});

export const auditScripts = [readListPage, readHashPage, readOutboxPage];
