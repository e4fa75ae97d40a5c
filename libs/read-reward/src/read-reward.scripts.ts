import { common, defineScript, int, str } from 'luanest/script-registry';
import { FREES_MEMORY } from '../../internal/src';
import { lookLua, recordFullyLua, recordLua, refundLua, statusLua } from './scripts/generated';
import type { Bounds } from './civil-calendar';
import type { RecordStatus, RefundStatus } from './read-reward.types';

const STATUSES = ['outside', 'rewarded', 'duplicate', 'capped'] as const;

/** Reply of the scripts `record` and `record-fully`. */
export interface Recorded {
  /** `outside`: Redis' clock is in none of the periods that were sent, and nothing was granted. */
  readonly status: RecordStatus | 'outside';
  readonly points: number;
  readonly used: number;
  readonly remaining: number;
  /** Number of the grant in the period; 0 if nothing was granted. */
  readonly seq: number;
  /** Start of the user's period, ms after the start of the current period of the rule. */
  readonly start: number;
  /** End of the user's period, ms after the start of the current period of the rule; with `outside` the time of Redis' clock instead. */
  readonly end: number;
  /** Item of the first call with this operation id; undefined for the item of this call. */
  readonly itemId: string | undefined;
}

type Raw = readonly [number, number, number, number, number, number, number, string?];

function recorded(raw: Raw): Recorded {
  return {
    status: STATUSES[raw[0]] as Recorded['status'],
    points: raw[1],
    used: raw[2],
    remaining: raw[3],
    seq: raw[4],
    start: raw[5],
    end: raw[6],
    itemId: raw[7],
  };
}

/** Decodes a reply of one integer, which a rule without `capPoints` gets in its current period. The other fields follow from the rule. */
function decodeShort(answer: number, { limit, pointsPerItem }: ShortReplySettings, bounds: Bounds): Recorded {
  const [status, counts] = [answer % 4, Math.floor(answer / 4)];
  const used = counts % 2 ** 20;
  const rewarded = status === 1;
  return {
    status: STATUSES[status] as Recorded['status'],
    points: rewarded ? pointsPerItem : 0,
    used,
    remaining: used < limit ? limit - used : 0,
    seq: rewarded ? used + Math.floor(counts / 2 ** 20) : 0,
    start: 0,
    end: bounds[2] - bounds[1],
    itemId: undefined,
  };
}

interface ShortReplySettings {
  readonly limit: number;
  readonly pointsPerItem: number;
}

/** Decodes a reply of the script `record`. @param bounds bounds of the periods that were sent */
export function readRecorded(answer: RawAnswer, settings: ShortReplySettings, bounds: Bounds): Recorded {
  return typeof answer === 'number' ? decodeShort(answer, settings, bounds) : recorded(answer);
}

type RawAnswer = number | Raw;

export const recordRead = defineScript({
  name: 'read-reward.record',
  ...recordLua,
  keys: ['items', 'state'],
  args: { itemId: str, token: str, rule: common(str) },
  reply: (answer: RawAnswer) => answer,
});

export const recordFully = defineScript({
  name: 'read-reward.record-fully',
  ...recordFullyLua,
  keys: ['items', 'state', 'ever', 'answer', 'ledger'],
  args: {
    itemId: str,
    token: str,
    rule: common(str),
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
  keys: ['items'],
  args: { itemId: str, end: common(str) },
  flags: ['no-writes'],
  reply: (found: number) => found,
});

export const refundGrant = defineScript({
  name: 'read-reward.refund',
  ...refundLua,
  keys: ['items', 'state', 'ever', 'receipt', 'ledger'],
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
  reply: ([status, points, used]: [RefundStatus, number, number]) => ({ status, points, used }),
});

export const readStatus = defineScript({
  name: 'read-reward.status',
  ...statusLua,
  keys: ['items', 'state'],
  args: { rule: common(str) },
  // The script only sets a TTL that was lost, which needs hardly any memory.
  flags: FREES_MEMORY,
  reply: ([open, points, used, remaining, end]: [number, number, number, number, number]) => ({
    open: open === 1,
    points,
    used,
    remaining,
    end,
  }),
});

export const readRewardScripts = [recordRead, recordFully, lookUp, refundGrant, readStatus] as const;
