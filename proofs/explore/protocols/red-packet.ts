import {
  beginActivity,
  closeBucket,
  fillPool,
  openActivity,
  settleBucket,
} from '../../../libs/red-packet/src/activity/activity.scripts';
import { homeOf, keysOf, PAYOUT_GROUP } from '../../../libs/red-packet/src/buckets/layout';
import { grabPacket, type BucketReply } from '../../../libs/red-packet/src/grabs/grab.scripts';
import type { Move, Protocol, ScriptCall, Step } from '../engine/protocol';
import { BEGIN_MS, type World } from '../engine/world';
import { invariants, unsettled } from './red-packet-invariants';
import { moverSteps, payerSteps } from './red-packet-movers';
import {
  BUCKETS,
  layout,
  type Mover,
  type PacketState,
  type Payer,
  type Settings,
  type User,
} from './red-packet-state';

const MOST_TRIES = 3;
const EXPIRES_MS = BEGIN_MS + 1_200_000;

function centsOf(packet: string): number {
  return Number(packet.split(':')[1]);
}

/** The three calls that make a bucket, in their order. */
function creating(settings: Settings, bucket: number, step: number): ScriptCall {
  const { meta, pool, grants, outbox } = keysOf(layout, bucket);
  const packets = settings.pools[bucket] ?? [];
  const totalCents = packets.reduce((sum, packet) => sum + centsOf(packet), 0);
  if (step === 0) {
    const args = {
      fingerprint: 'f',
      totalCents,
      packets: packets.length,
      allPackets: settings.pools.flat().length,
      buckets: BUCKETS,
      bucket,
      startsAtMs: 0,
      endsAtMs: BEGIN_MS + 600_000,
      maxTries: 0,
      soldOutMs: 1_000,
      retentionMs: 600_000,
      expiresAtMs: EXPIRES_MS,
      seed: '0'.repeat(32),
      reports: 0,
      encodedId: 'rain',
    };
    return { script: beginActivity, input: { keys: { meta, pool, grants }, args } };
  }
  if (step === 1) {
    let sum = 0;
    const chunk = packets.map((packet) => `${packet}:${(sum += centsOf(packet))}`);
    return { script: fillPool, input: { keys: { meta, pool }, args: { offset: 0, chunk } } };
  }
  return { script: openActivity, input: { keys: { meta, pool, grants, outbox }, args: { group: PAYOUT_GROUP } } };
}

function creatorSteps(state: PacketState, settings: Settings): Step<PacketState>[] {
  return state.created.flatMap((step, bucket) => {
    if (step > 2) return [];
    const done = (to: PacketState): void => void (to.created[bucket] = step + 1);
    // After a lost reply the creator makes the same call again.
    const name = `${['begin', 'fill', 'open'][step]} bucket ${bucket}`;
    return [{ actor: 'creator', name, call: creating(settings, bucket, step), done, lost: () => undefined }];
  });
}

function grabStep(actor: string, { bucket, packet }: User): Step<PacketState> {
  const { meta, pool, grants, outbox, tries: triesKey } = keysOf(layout, bucket);
  const input = { keys: { meta, pool, grants, outbox, tries: triesKey }, args: { userId: actor, mode: 0 } };
  const done = (to: PacketState, reply: BucketReply): void => {
    const me = to.users[actor] as User;
    me.tries++;
    if ('packet' in reply) {
      const got = reply.packet.packetId;
      if (!to.disturbed && packet !== '' && packet !== got)
        to.wrong = `${actor} was given packet ${packet}, and then ${got}.`;
      me.packet = got;
    } else if (!to.disturbed && packet !== '') {
      to.wrong = `${actor} was given packet ${packet}, and then ${reply.status}.`;
    }
    // Who has won may look again, and gets the same packet.
    if (me.tries >= MOST_TRIES || ('packet' in reply && me.tries >= 2)) me.phase = 'over';
  };
  const lost = (to: PacketState): void => {
    const me = to.users[actor] as User;
    me.tries++;
    if (me.tries >= MOST_TRIES) me.phase = 'over';
  };
  return { actor, name: 'grab', call: { script: grabPacket, input }, done, lost };
}

function closerSteps(state: PacketState): Step<PacketState>[] {
  const { phase, bucket } = state.closer;
  const steps: Step<PacketState>[] = [];
  if (phase === 'closing') {
    const { meta, pool, refunds, grants } = keysOf(layout, bucket);
    const call = { script: closeBucket, input: { keys: { meta, pool, refunds, grants }, args: { atEnd: 0 } } };
    const done = (to: PacketState): void => {
      to.closer.bucket++;
      if (to.closer.bucket === BUCKETS) to.closer.phase = 'over';
    };
    steps.push({ actor: 'closer', name: `close bucket ${bucket}`, call, done, lost: () => undefined });
  }
  if (phase === 'waits' || (state.budgets.settle ?? 1) === 0) return steps;
  for (let index = 0; index < BUCKETS; index++) {
    if (state.settled[index]) continue;
    const { outbox, ...keys } = keysOf(layout, index);
    const done = (to: PacketState, status: string, world: World): void => {
      if (to.budgets.settle !== undefined) to.budgets.settle--;
      if (status !== 'settled') return;
      to.settled[index] = true;
      if ((world.read('XLEN', outbox) as number) > 0) to.wrong = `Bucket ${index} gets a TTL, and owes payouts.`;
    };
    steps.push({
      actor: 'closer',
      name: `settle bucket ${index}`,
      call: { script: settleBucket, input: { keys, args: { giveUp: 0, expiresAtMs: EXPIRES_MS } } },
      done,
    });
  }
  return steps;
}

function stepsOf(state: PacketState, settings: Settings, world: World): Step<PacketState>[] {
  const steps = creatorSteps(state, settings);
  for (const [actor, user] of Object.entries(state.users)) {
    if (user.phase === 'wants' && state.created[user.bucket] === 3) steps.push(grabStep(actor, user));
  }
  if (state.created.every((step) => step === 3)) steps.push(...moverSteps(state, world), ...closerSteps(state));
  return [...steps, ...payerSteps(state, world)];
}

function movesOf({ budgets, closer, created }: PacketState): Move<PacketState>[] {
  if (closer.phase !== 'waits' || (budgets.close ?? 0) === 0 || created.some((step) => step < 3)) return [];
  return [{ name: 'the operator closes the activity', run: (_world, next) => void (next.closer.phase = 'closing') }];
}

export function redPacket(settings: Settings): Protocol<PacketState> {
  const { scenario, budgets, users, movers = [], moves = 1, payers = [], isOpen = true, depth } = settings;
  return {
    name: 'red-packet',
    scenario,
    depth,
    about: `An activity with two buckets: its creation, users who grab, processes that move packets and finish transfers, payouts \
into a ledger, and an operator who closes it. Calls are the library's definitions and the keys of Layouts. The model begins where \
Creation, Grabber, Transfers, Closing and the payout runs decide what comes next; the ledger is a table with unique packets and \
users. Payouts read rows of the outbox by one command, and settle them by the library's script; the streams below them are explored \
on their own.`,
    begin: (world) => {
      for (let bucket = 0; isOpen && bucket < BUCKETS; bucket++) {
        for (let step = 0; step < 3; step++) world.call(creating(settings, bucket, step));
      }
      return {
        budgets: { ...budgets },
        late: [],
        disturbed: false,
        created: Array.from({ length: BUCKETS }, () => (isOpen ? 3 : 0)),
        users: Object.fromEntries(
          Object.entries(users).map(([name, bucket]): [string, User] => [
            name,
            { phase: 'wants', bucket, tries: 0, packet: '' },
          ]),
        ),
        movers: Object.fromEntries(
          movers.map((name, from): [string, Mover] => [
            name,
            { phase: 'idle', rounds: moves, from: from % 2, sequence: '', packets: [] },
          ]),
        ),
        payers: Object.fromEntries(
          payers.map((name): [string, Payer] => [name, { row: undefined, phase: 'idle', paid: '' }]),
        ),
        closer: { phase: 'waits', bucket: 0 },
        ledger: {},
        settled: [false, false],
      };
    },
    steps: (state, world) => stepsOf(state, settings, world),
    moves: movesOf,
    actors: [...movers, ...payers],
    crash: (state, actor) => {
      const mover = state.movers[actor];
      const payer = state.payers[actor];
      if ((mover?.phase ?? 'idle') === 'idle' && (payer?.phase ?? 'idle') === 'idle') return false;
      if (mover !== undefined) Object.assign(mover, { phase: 'idle', sequence: '', packets: [] });
      if (payer !== undefined) Object.assign(payer, { phase: 'idle', row: undefined, paid: '' });
      return true;
    },
    deadlines: (_state, world) => [BEGIN_MS + 50, world.nowMs < BEGIN_MS + 1_000 ? world.nowMs + 50 : 0],
    invariants: invariants(settings),
    unsettled: (state, world) => unsettled(state, world),
  };
}

/** Users whose home is a bucket, as the library computes it. */
export function usersOf(...homes: readonly number[]): Record<string, number> {
  const users: Record<string, number> = {};
  for (let n = 0; Object.keys(users).length < homes.length; n++) {
    const home = homes[Object.keys(users).length];
    if (homeOf(layout, `u${n}`) === home) users[`u${n}`] = home;
  }
  return users;
}

const pools = [['1:10', '2:20'], ['3:30']];

export const redPacketScenarios = [
  redPacket({
    scenario: 'grabs and transfers',
    pools,
    users: usersOf(0, 1, 1),
    movers: ['M', 'N'],
    budgets: { time: 2, lost: 2, late: 1, crash: 1, close: 1, settle: 0 },
    depth: 10,
  }),
  redPacket({
    scenario: 'payouts and the end',
    pools,
    users: usersOf(0, 1),
    movers: ['M'],
    payers: ['P', 'Q'],
    budgets: { time: 1, lost: 1, crash: 1, close: 1, settle: 2 },
    depth: 12,
  }),
  redPacket({
    scenario: 'creation',
    pools,
    users: usersOf(0, 1),
    isOpen: false,
    budgets: { lost: 2, late: 2, close: 1, settle: 1 },
    depth: 13,
  }),
  redPacket({
    scenario: 'failover',
    pools,
    users: usersOf(0, 0, 1),
    payers: ['P'],
    budgets: { lost: 1, failover: 1, close: 1, settle: 1 },
    depth: 12,
  }),
];
