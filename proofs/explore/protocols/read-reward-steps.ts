import {
  recordFully,
  recordRead,
  refundGrant,
  type Counted,
  type Recorded,
} from '../../../libs/read-reward/src/read-reward.scripts';
import { RewardKeys } from '../../../libs/read-reward/src/read-reward.keys';
import { KeySpace } from 'luanest/script-registry';
import type { Actors, Budgets, ScriptCall, Step } from '../engine/protocol';
import type { World } from '../engine/world';

const PERIOD_MS = 1_000;
const POINTS = 5;
const REWARDED = 1;
export const keys = new RewardKeys(new KeySpace('e', 'read-reward'), 1, ['r']);
export const STATE = keys.state('r', 0, 'u');

interface Grant {
  readonly item: string;
  readonly start: number;
  readonly seq: number;
  refunded: boolean;
}

export interface Reader {
  phase: 'reads' | 'fully' | 'may refund' | 'over';
  /** Items that it still reads. */
  items: string[];
  /** By how much its clock differs from Redis' clock, ms; 0 after Redis returned its time. */
  skewMs: number;
  calls: number;
  /** Index of its last grant. */
  grant: number;
}

export interface RewardState extends Actors {
  readers: Record<string, Reader>;
  grants: Grant[];
  /** Start of the period that Redis had last. */
  from: number;
}

export interface Settings {
  readonly scenario: string;
  readonly limit: number;
  /** Items of each reader, and the skew of its clock. */
  readonly readers: Readonly<Record<string, { readonly items: readonly string[]; readonly skewMs: number }>>;
  /** True: the first result of an operation is kept, and a reader repeats a lost call with its operation id. */
  readonly operations?: boolean;
  readonly refunds?: boolean;
  readonly budgets: Budgets;
  readonly depth: number;
}

/** Starts of five periods, from the one before the present one on, by the clock of a reader. */
function startsAt(nowMs: number): number[] {
  const current = nowMs - (nowMs % PERIOD_MS);
  return [-1, 0, 1, 2, 3].map((n) => current + n * PERIOD_MS);
}

function reading(
  actor: string,
  { items, calls, phase, skewMs }: Reader,
  { limit, operations }: Settings,
  nowMs: number,
): ScriptCall {
  const [item = ''] = items;
  const starts = startsAt(nowMs + skewMs);
  const token = operations ? `o${actor}${items.length}` : `${actor}${calls}`;
  if (phase === 'reads' && !operations) {
    const args = {
      itemId: item,
      grant: `${POINTS}::${token}`,
      limit,
      gap: PERIOD_MS,
      current: `${starts.slice(1, 4).join(':')}:${POINTS}:`,
    };
    return { script: recordRead, input: { keys: { state: STATE }, args } };
  }
  const answer = operations ? keys.key(0, 'answer', 'r', 'u', token) : STATE;
  const rule = [limit, POINTS, 0, 0, ...starts].join(':');
  const args = {
    itemId: item,
    token,
    rule,
    everMs: 0,
    answerMs: operations ? 20_000 : 0,
    ledgerMs: 0,
    name: '',
    userId: '',
  };
  return { script: recordFully, input: { keys: { state: STATE, ever: STATE, answer, ledger: STATE }, args } };
}

function rewarded(state: RewardState, reader: Reader, grant: Omit<Grant, 'refunded'>): void {
  const known = state.grants.findIndex(({ start, seq }) => start === grant.start && seq === grant.seq);
  if (known >= 0 && state.grants[known]?.item !== grant.item && !state.disturbed)
    state.wrong = `The grant ${grant.seq} was given for ${state.grants[known]?.item} and for ${grant.item}.`;
  if (known < 0) state.grants.push({ ...grant, refunded: false });
  reader.grant = known < 0 ? state.grants.length - 1 : known;
}

function next(reader: Reader, canRefund: boolean): void {
  reader.items.shift();
  reader.calls++;
  reader.phase = canRefund ? 'may refund' : reader.items.length > 0 ? 'reads' : 'over';
}

export function stepsOf(state: RewardState, settings: Settings, world: World): Step<RewardState>[] {
  const { operations = false, refunds = false, limit } = settings;
  return Object.entries(state.readers).flatMap(([actor, reader]): Step<RewardState>[] => {
    const { phase, items, grant } = reader;
    const me = (to: RewardState): Reader => to.readers[actor] as Reader;
    if (phase === 'over') return [];
    if (phase === 'may refund') return refundSteps(state, actor, grant);
    const starts = startsAt(world.nowMs + reader.skewMs);
    const [item = ''] = items;
    // A caller without an operation id reads the item again, as another call. With one, the same call is made again.
    const lost = (to: RewardState): void => {
      if (!operations) Object.assign(me(to), { phase: 'reads', calls: reader.calls + 1 });
    };
    const call = reading(actor, reader, settings, world.nowMs);
    if (call.script === recordRead) {
      const done = (to: RewardState, { status, seq }: Counted): void => {
        if (status === 0) return void (me(to).phase = 'fully');
        const isRewarded = status === REWARDED;
        if (isRewarded) rewarded(to, me(to), { item, start: starts[1] as number, seq });
        next(me(to), isRewarded && refunds);
      };
      return [{ actor, name: `read ${item}`, call, done, lost }];
    }
    const done = (to: RewardState, { status, start, seq, end, used, itemId }: Recorded): void => {
      const begin = starts[1] as number;
      // The reader now knows Redis' time, and sends the periods around it.
      if (status === 'outside') return void (me(to).skewMs -= world.nowMs + reader.skewMs - (begin + end));
      if (used > limit) to.wrong = `${used} items count, and the limit is ${limit}.`;
      const isRewarded = status === 'rewarded';
      if (isRewarded) rewarded(to, me(to), { item: itemId, start: begin + start, seq });
      next(me(to), isRewarded && refunds);
    };
    return [{ actor, name: `read ${item} with all periods`, call, done, lost }];
  });
}

function refundSteps(state: RewardState, actor: string, index: number): Step<RewardState>[] {
  const { item, start, seq } = state.grants[index] as Grant;
  const me = (to: RewardState): Reader => to.readers[actor] as Reader;
  const goOn = (to: RewardState): void => void (me(to).phase = me(to).items.length > 0 ? 'reads' : 'over');
  const receipt = keys.key(0, 'receipt', 'r', 'u', String(start), String(seq));
  const args = {
    itemId: item,
    start,
    seq,
    token: `t${actor}${index}`,
    answerMs: 20_000,
    everMs: 0,
    ledgerMs: 0,
    name: '',
    userId: '',
  };
  // For a key that this call does not use, the library passes another key of the user.
  const input = { keys: { state: STATE, ever: keys.key(0, 'ever', 'r', 'u'), receipt, ledger: STATE }, args };
  const done = (to: RewardState, { status, points }: { status: string; points: number }): void => {
    const grant = to.grants[index] as Grant;
    if (status === 'refunded' && points !== POINTS) to.wrong = `A refund gave ${points} points.`;
    if (status === 'refunded') grant.refunded = true;
    goOn(to);
  };
  const lost = (to: RewardState): void => {
    // It may have run: the grant is not promised to count any more.
    (to.grants[index] as Grant).refunded = true;
  };
  return [
    { actor, name: 'keep the points', done: goOn },
    { actor, name: `refund ${item}`, call: { script: refundGrant, input }, done, lost },
  ];
}
