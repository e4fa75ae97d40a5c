import { common, defineScript, int, str } from 'luanest/script-registry';
import { FREES_MEMORY } from '../../internal/src';
import { lookLua, recordFullyLua, recordLua, refundLua, statusLua } from './scripts/generated';
import type { Bounds } from './civil-calendar';
import type { RecordStatus, RefundStatus } from './read-reward.types';

const STATUSES = ['outside', 'rewarded', 'duplicate', 'capped'] as const;

/** What a record script decided. */
export interface Recorded {
  /** `outside`: Redis' clock was in none of the three periods, and nothing was written. */
  readonly status: RecordStatus | 'outside';
  readonly points: number;
  readonly used: number;
  readonly remaining: number;
  /** 0 without a grant. */
  readonly seq: number;
  /** Start of the user's period, ms after that of the current one. */
  readonly start: number;
  /** End of the user's period, likewise; Redis' clock when outside. */
  readonly resetsAtMs: number;
  /** The item of an operation's first answer; undefined for that of the call. */
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
    resetsAtMs: raw[6],
    itemId: raw[7],
  };
}

/** An answer in the current period of a rule without a cap, of which the rule says the rest. */
function brief(answer: number, { limit, pointsPerItem }: Figures, bounds: Bounds): Recorded {
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
    resetsAtMs: bounds[2] - bounds[1],
    itemId: undefined,
  };
}

/** What a brief answer leaves to the rule. */
interface Figures {
  readonly limit: number;
  readonly pointsPerItem: number;
}

/** Reads an answer of `record`. @param bounds of the periods, as they were sent */
export function readRecorded(answer: RawAnswer, figures: Figures, bounds: Bounds): Recorded {
  return typeof answer === 'number' ? brief(answer, figures, bounds) : recorded(answer);
}

/** As `record` gives it. */
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
  // It writes nothing but an expiry, for which there is always room.
  flags: FREES_MEMORY,
  reply: ([open, points, used, remaining, resetsAtMs]: [number, number, number, number, number]) => ({
    open: open === 1,
    points,
    used,
    remaining,
    resetsAtMs,
  }),
});

export const readRewardScripts = [recordRead, recordFully, lookUp, refundGrant, readStatus] as const;
