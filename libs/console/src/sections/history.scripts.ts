import { defineScript, int, list, str } from 'luanest/script-registry';
import { listProcessesLua, readHistoryLua, writeHistoryLua } from '../scripts/generated';

export const writeHistory = defineScript({
  name: 'console.write-history',
  ...writeHistoryLua,
  keys: ['day', 'seen', 'processes'],
  args: { process: str, token: str, about: str, ttlMs: int, keep: int, counts: list(str) },
  group: false,
  reply: (written: number) => written === 1,
});

export const readHistory = defineScript({
  name: 'console.read-history',
  ...readHistoryLua,
  keys: ['day'],
  args: { from: int, to: int },
  flags: ['no-writes'],
  group: false,
  replyBytes: true,
  reply: (counts: Buffer) => counts,
});

export const listProcesses = defineScript({
  name: 'console.list-processes',
  ...listProcessesLua,
  keys: ['seen', 'processes'],
  args: { limit: int },
  flags: ['no-writes'],
  group: false,
  reply: (flat: string[]) =>
    Array.from({ length: flat.length / 3 }, (_, at) => {
      const [process = '', seenAtMs, about = '{}'] = flat.slice(3 * at, 3 * at + 3);
      return { process, seenAtMs: Number(seenAtMs), about };
    }),
});

export const historyScripts = [writeHistory, readHistory, listProcesses];
