import { defineScript, int, str } from 'luanest/script-registry';
import { FREES_MEMORY } from '../../internal/src';
import { itemsLua, lookLua, recordFullyLua, recordLua, refundLua, statusLua } from './scripts/generated';
import type { RecordStatus, RefundStatus } from './read-reward.types';

/** Statuses in replies. A script returns the index. */
export const STATUSES = ['outside', 'rewarded', 'duplicate', 'capped'] as const;
const REWARDED = 1;

export interface Recorded {
  /** Status of the read. `outside`: Redis' clock is outside the periods that were sent, so nothing was granted. */
  readonly status: RecordStatus | 'outside';
  readonly points: number;
  readonly used: number;
  readonly remaining: number;
  /** Number of the grant in the period; 0 if nothing was granted. */
  readonly seq: number;
  /**
   * Start of the user's period, in ms from the start of the rule's current period. It is not 0, for example, while the user's period still
   * follows an earlier time zone of the user.
   */
  readonly start: number;
  /** End of the user's period; if the status is `outside`, Redis' time. In ms from the start of the rule's current period. */
  readonly end: number;
  /** Item of the result. A repeated operation id returns the item of its first call. */
  readonly itemId: string;
}

type Raw = readonly [number, number, number, number, number, number, number, string];

function recorded([status, points, used, remaining, seq, start, end, itemId]: Raw): Recorded {
  return { status: STATUSES[status] as Recorded['status'], points, used, remaining, seq, start, end, itemId };
}

export interface Counted {
  /** Index in STATUSES. 0: the script could not decide, and has written nothing. */
  readonly status: number;
  /** Number of items that count in the period. */
  readonly used: number;
  /** Number of the grant in the period; 0 if nothing was granted. */
  readonly seq: number;
}

/** The script `record` returns two numbers in one: refunds * MAX_USED + items. A period never has as many items as MAX_USED. */
const MAX_USED = 2 ** 20;

function counted(reply: number): Counted {
  const [status, counts] = [reply % 4, Math.floor(reply / 4)];
  const used = counts % MAX_USED;
  return { status, used, seq: status === REWARDED ? used + Math.floor(counts / MAX_USED) : 0 };
}

export const recordRead = defineScript({
  name: 'read-reward.record',
  ...recordLua,
  keys: ['state'],
  args: {
    itemId: str,
    grant: str,
    limit: int,
    gap: int,
    current: str,
  },
  reply: counted,
});

export const recordFully = defineScript({
  name: 'read-reward.record-fully',
  ...recordFullyLua,
  keys: ['state', 'ever', 'answer', 'ledger'],
  args: {
    itemId: str,
    token: str,
    rule: str,
    everMs: int,
    answerMs: int,
    ledgerMs: int,
    name: str,
    userId: str,
  },
  reply: recorded,
});

export const lookUp = defineScript({
  name: 'read-reward.look',
  ...lookLua,
  keys: ['state'],
  args: { itemId: str, current: str, gap: int },
  flags: ['no-writes'],
  reply: (found: number) => ({ used: found >> 1, known: found >= 0 && found % 2 === 1 }),
});

export const refundGrant = defineScript({
  name: 'read-reward.refund',
  ...refundLua,
  keys: ['state', 'ever', 'receipt', 'ledger'],
  args: {
    itemId: str,
    start: int,
    seq: int,
    token: str,
    answerMs: int,
    everMs: int,
    ledgerMs: int,
    name: str,
    userId: str,
  },
  group: false,
  reply: ([status, points, used]: [RefundStatus, number, number]) => ({ status, points, used }),
});

export const readStatus = defineScript({
  name: 'read-reward.status',
  ...statusLua,
  keys: ['state'],
  args: { rule: str },
  // Needs hardly any memory, because only a lost TTL is written. So the script may run when Redis is out of memory.
  flags: FREES_MEMORY,
  group: false,
  reply: ([open, points, used, remaining, end]: [number, number, number, number, number]) => ({
    open: open === 1,
    points,
    used,
    remaining,
    end,
  }),
});

export const readItems = defineScript({
  name: 'read-reward.items',
  ...itemsLua,
  keys: ['state'],
  args: { cursor: str, count: int },
  flags: ['no-writes'],
  group: false,
  reply: ([next, from, to, ...flat]: string[]) => ({
    next: next as string,
    startsAtMs: Number(from),
    endsAtMs: Number(to),
    items: Array.from({ length: flat.length / 3 }, (_, i) => ({
      itemId: flat[3 * i] as string,
      seq: Number(flat[3 * i + 1]),
      points: Number(flat[3 * i + 2]),
    })),
  }),
});

export const readRewardScripts = [recordRead, recordFully, lookUp, refundGrant, readStatus, readItems] as const;
