import { defineScript, int, str } from 'luanest/script-registry';
import { recordLua, refundLua, statusLua } from './scripts/generated';
import type { RecordStatus, RefundStatus } from './read-reward.types';

export const recordRead = defineScript({
  name: 'read-reward.record',
  source: recordLua,
  keys: ['items', 'state', 'ever', 'answer', 'ledger'],
  args: {
    itemId: str,
    token: str,
    limit: int,
    points: int,
    cap: int,
    totalMs: int,
    everMs: int,
    answerMs: int,
    ledgerMs: int,
    b0: int,
    b1: int,
    b2: int,
    b3: int,
    b4: int,
    rule: str,
    userId: str,
  },
  reply: ([status, points, used, remaining, resetsAt, start, seq, itemId]: [
    RecordStatus | 'outside',
    number,
    number,
    number,
    number,
    number,
    number,
    string,
  ]) => ({ status, points, used, remaining, resetsAt, start, seq, itemId }),
});

export const refundGrant = defineScript({
  name: 'read-reward.refund',
  source: refundLua,
  keys: ['items', 'state', 'ever', 'receipt', 'ledger'],
  args: { itemId: str, start: int, seq: int, token: str, answerMs: int, ledgerMs: int, rule: str, userId: str },
  reply: ([status, points, used]: [RefundStatus, number, number]) => ({ status, points, used }),
});

export const readStatus = defineScript({
  name: 'read-reward.status',
  source: statusLua,
  keys: ['items', 'state'],
  args: { limit: int, points: int, cap: int, b0: int, b1: int, b2: int, b3: int, b4: int },
  flags: ['no-writes'],
  reply: ([status, points, used, remaining, resetsAt]: ['open' | 'outside', number, number, number, number]) => ({
    status,
    points,
    used,
    remaining,
    resetsAt,
  }),
});

export const readRewardScripts = [recordRead, refundGrant, readStatus] as const;
