import { defineScript, int, list, str } from 'luanest/script-registry';
import { FREES_MEMORY } from '../../../internal/src';
import {
  buryPayoutLua,
  confirmRowLua,
  dropPayoutsLua,
  dropRowsLua,
  listDeadLua,
  replayPayoutsLua,
  restorePayoutsLua,
  ringOutboxLua,
  settleDeadLua,
  settlePayoutLua,
} from '../scripts/generated';

export const settlePayout = defineScript({
  name: 'red-packet.settle-payout',
  ...settlePayoutLua,
  keys: ['outbox', 'meta'],
  args: { rowId: str, owner: str, user: str, grant: str },
  flags: FREES_MEMORY,
  reply: (settled: number) => settled === 1,
});

export const settleDead = defineScript({
  name: 'red-packet.settle-dead',
  ...settleDeadLua,
  keys: ['dead', 'meta'],
  args: { owner: str, user: str, grant: str, after: str, count: int },
  flags: FREES_MEMORY,
  group: false,
  reply: (last: string) => last,
});

export const confirmRow = defineScript({
  name: 'red-packet.confirm-row',
  ...confirmRowLua,
  keys: ['outbox', 'waited'],
  args: { rowId: str, owner: str, user: str, grant: str },
  reply: (found: number) => found === 1,
});

export const buryPayout = defineScript({
  name: 'red-packet.bury-payout',
  ...buryPayoutLua,
  keys: ['outbox', 'meta', 'dead'],
  args: { rowId: str, owner: str, problem: str, attempts: int, firstSeenMs: int },
  flags: FREES_MEMORY,
  group: false,
  reply: (buried: number) => (buried === -1 ? ('forgotten' as const) : buried === 1 ? 'buried' : 'none'),
});

export const replayPayouts = defineScript({
  name: 'red-packet.replay-payouts',
  ...replayPayoutsLua,
  keys: ['dead', 'outbox'],
  args: { ids: list(str) },
  flags: FREES_MEMORY,
  group: false,
  reply: (replayed: number) => replayed,
});

export const ringOutbox = defineScript({
  name: 'red-packet.ring-outbox',
  ...ringOutboxLua,
  keys: ['outbox'],
  args: {},
  flags: FREES_MEMORY,
  group: false,
  reply: (rows: number) => rows,
});

export const dropPayouts = defineScript({
  name: 'red-packet.drop-payouts',
  ...dropPayoutsLua,
  keys: ['dead', 'meta'],
  args: { ids: list(str) },
  flags: FREES_MEMORY,
  group: false,
  reply: (dropped: number) => dropped,
});

export const dropRows = defineScript({
  name: 'red-packet.drop-rows',
  ...dropRowsLua,
  keys: ['outbox', 'meta'],
  args: { owner: str, after: str, count: int },
  flags: FREES_MEMORY,
  group: false,
  reply: (last: string) => last,
});

export const restorePayouts = defineScript({
  name: 'red-packet.restore-payouts',
  ...restorePayoutsLua,
  keys: ['outbox', 'meta', 'grants'],
  args: { group: str, repairs: int, settled: int, rows: list(str) },
  group: false,
  reply: (repairs: number) => repairs,
});

/** A dead letter as list-dead.lua returns it. */
export interface DeadRow {
  readonly entryId: string;
  readonly error: string;
  readonly attempts: number;
  readonly firstSeenAtMs: number;
  readonly fields: Readonly<Record<'user' | 'grant', string>>;
}

const COLUMNS = 6;

export const listDead = defineScript({
  name: 'red-packet.list-dead',
  ...listDeadLua,
  keys: ['dead'],
  args: { after: str, count: int },
  flags: ['no-writes'],
  group: false,
  reply: ([newest = '0-0', ...texts]: string[]) => {
    const rows: DeadRow[] = [];
    for (let i = 0; i + COLUMNS <= texts.length; i += COLUMNS) {
      const [entryId = '', error = '', attempts, first, user = '', grant = ''] = texts.slice(i);
      const fields = { user, grant };
      rows.push({ entryId, error, attempts: Number(attempts), firstSeenAtMs: Number(first), fields });
    }
    return { newest, rows };
  },
});

export const payoutScripts = [
  settlePayout,
  settleDead,
  confirmRow,
  buryPayout,
  replayPayouts,
  restorePayouts,
  ringOutbox,
  dropPayouts,
  dropRows,
  listDead,
];
