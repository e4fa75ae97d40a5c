import type { ActivityStatus, AuditResult, Grant, RedPacketPayouts, RedPacketService } from 'luanest/red-packet';
import { CONSOLE, isIdOf } from '../../../internal/src';
import type { Address, Done, Listing, Row, SectionFactory, Sentence, Story, Target } from '../console.types';
import { activitySentences, auditSentence, stateSentence } from './red-packet-sentences';
import { say } from './sentences';
import { input, link, nothing, one, oneOf, pageOf, refused, unknownAddress } from './support';
import { facts, table } from './table';

type DeadLetter = Awaited<ReturnType<RedPacketPayouts['deadLetters']>>['items'][number];

const ALL = ['red-packets', 'activities'] as const;
const MAX_ID = 128;
/** Number of activities that the summary reads, and in which a search looks for a user: those whose retention ends last. */
const NEWEST = 10;
/** Maximum number of dead-lettered payouts that are read to find one of them by its id. */
const MOST_DEAD = 5_000;

/**
 * Section of the activities of red packets. It shows their state, where their money is, their winners, and the dead-lettered
 * payouts. A dead-lettered payout is not paid until an operator replays it.
 */
export const redPacketsSection: SectionFactory = (app, context) => {
  const packets = app.find('RedPacketService') as RedPacketService | undefined;
  const payouts = app.find('RedPacketPayouts') as RedPacketPayouts | undefined;
  if (packets === undefined || payouts === undefined) return undefined;
  const activities = packets[CONSOLE]();

  const deadPage = async (id: string, limit: number, cursor: string | undefined): Promise<Listing> => {
    const { items, nextCursor } = await payouts.deadLetters(id, pageOf({ limit, cursor }, 500));
    return DEAD.page(
      items.map((dead) => deadRow(id, dead)),
      nextCursor,
    );
  };
  /** Returns a page of winners. Reads several pages of `records`: each covers only one bucket (a part of the packets), and may be empty. */
  const winnersPage = async (id: string, limit: number, cursor: string | undefined): Promise<Listing> => {
    const grants: Grant[] = [];
    let next = cursor;
    do {
      const { items, nextCursor } = await packets.records(id, pageOf({ limit, cursor: next }, 1_000));
      grants.push(...items);
      next = nextCursor;
    } while (grants.length < limit && next !== undefined);
    return WINNERS.page(
      grants.map((grant) => WINNERS.row({ ...grant, user: grant.userId }, [...ALL, id, 'winners', grant.userId])),
      next,
    );
  };
  const deadOf = async (id: string, deadId: string): Promise<DeadLetter | undefined> => {
    let cursor: string | undefined;
    for (let read = 0; read < MOST_DEAD; read += 500) {
      const page = await payouts.deadLetters(id, pageOf({ limit: 500, cursor }));
      const found = page.items.find((dead) => dead.id === deadId);
      if (found !== undefined || page.nextCursor === undefined) return found;
      cursor = page.nextCursor;
    }
    return undefined;
  };

  const act = async (action: string, id: string, before: ActivityStatus): Promise<Done> => {
    if (action === 'close') {
      const closed = await packets.close(id);
      return closed?.closed ? { count: 1 } : refused(stateSentence({ ...before, state: closed ? 'closed' : 'draft' }));
    }
    const state = await (action === 'pause' ? packets.pause(id) : packets.resume(id));
    const changed = state !== undefined && (state === 'paused') === (action === 'pause') && state !== before.state;
    return changed ? { count: 1 } : refused(stateSentence({ ...before, state: state ?? before.state }));
  };

  const story = async (id: string): Promise<Story | undefined> => {
    const [status, audit] = await Promise.all([packets.status(id), packets.audit(id)]);
    if (status === undefined || audit === undefined) return undefined;
    const lists = [
      { name: 'buckets', listing: BUCKETS.all(audit.buckets.map(bucketRow)) },
      ...(audit.ok
        ? []
        : [
            {
              name: 'problems',
              listing: PROBLEMS.all(audit.problems.map((problem) => PROBLEMS.row({ problem }, undefined, 'error'))),
            },
          ]),
      { name: 'winners', listing: await winnersPage(id, 20, undefined) },
      ...(status.deadLetters > 0 ? [{ name: 'dead-payouts', listing: await deadPage(id, 20, undefined) }] : []),
    ];
    const { state } = status;
    return {
      title: id,
      facts: factsOf(status),
      sentences: [stateSentence(status), auditSentence(id, audit), ...activitySentences(status)],
      lists,
      actions: [
        ...(state === 'paused' ? ['resume'] : state === 'open' || state === 'preheated' ? ['pause'] : []),
        ...(state === 'closed' || state === 'draft' ? [] : ['close']),
        ...(status.deadLetters > 0 ? ['replay', 'drop'] : []),
      ],
    };
  };

  return {
    name: 'red-packets',
    lists: [{ name: 'activities', filters: [] }],
    actions: [
      { name: 'pause', danger: false, on: 'one' },
      { name: 'resume', danger: false, on: 'one' },
      { name: 'close', danger: true, on: 'one' },
      { name: 'replay', danger: false, on: 'both', lists: ['dead-payouts'] },
      { name: 'drop', danger: true, on: 'both', lists: ['dead-payouts'] },
    ],

    async summary() {
      const { items, total } = await activities.page(NEWEST);
      const found = await Promise.all(items.map((id) => packets.status(id)));
      const sentences = found.flatMap((status) => (status ? activitySentences(status) : []));
      return {
        figures: [{ name: 'activities', value: total, address: ALL }],
        sentences: sentences.filter(({ level }) => level === 'error' || level === 'warning'),
      };
    },

    async list(address, { cursor, limit }) {
      const [, list, id, inner] = address;
      if (list !== 'activities' || (id !== undefined && !isIdOf(id, MAX_ID))) return unknownAddress(address);
      if (id !== undefined && address.length === 4 && inner === 'dead-payouts') return deadPage(id, limit, cursor);
      if (id !== undefined && address.length === 4 && inner === 'winners') return winnersPage(id, limit, cursor);
      if (id !== undefined) return unknownAddress(address);
      const { items, nextCursor, total } = await activities.page(limit, cursor);
      const found = await Promise.all(items.map((each) => packets.status(each)));
      const rows = found.flatMap((status) => (status ? [activityRow(status)] : []));
      return { ...ACTIVITIES.page(rows, nextCursor), total };
    },

    async show(address) {
      const [, list, id, inner, name] = address;
      if (list !== 'activities' || !isIdOf(id, MAX_ID)) return undefined;
      if (address.length === 3) return story(id);
      if (address.length !== 5 || name === undefined) return undefined;
      if (inner === 'winners')
        return isIdOf(name, 256) ? winnerStory(id, name, await packets.packetOf(id, name)) : undefined;
      if (inner !== 'dead-payouts') return undefined;
      const dead = await deadOf(id, name);
      if (dead === undefined) return undefined;
      return {
        title: name,
        facts: facts('activity:link payload:payload error attemptsMade firstSeenAtMs:instant deadAtMs:instant', {
          ...dead,
          activity: link([...ALL, id]),
          payload: context.payload(dead.payload),
        }),
        sentences: [],
        actions: ['replay', 'drop'],
      };
    },

    async find(id) {
      if (!isIdOf(id, 256)) return [];
      const status = isIdOf(id, MAX_ID) ? await packets.status(id) : undefined;
      const own = status && {
        ...{ address: [...ALL, id], kind: 'activity', title: id },
        sentence: activitySentences(status)[0] ?? stateSentence(status),
      };
      const { items } = await activities.page(NEWEST);
      const won = await Promise.all(items.map((each) => packets.packetOf(each, id)));
      const users = items.flatMap((each, i) => {
        const packet = won[i];
        if (packet === undefined) return [];
        const values = { user: id, activity: each, amountCents: packet.amountCents };
        const sentence: Sentence = say('user-won', values);
        return [{ address: [...ALL, each, 'winners', id], kind: 'user', title: id, sentence }];
      });
      return [...(own ? [own] : []), ...users];
    },

    async preview(action, target) {
      if (action === 'replay' || action === 'drop') {
        const { id, deadId } = deadTarget(target);
        if (deadId !== undefined) {
          const found = await deadOf(id, deadId);
          return found ? one(deadId) : nothing();
        }
        const [stats, page] = await Promise.all([payouts.stats(id), payouts.deadLetters(id, { limit: 10 })]);
        return { count: stats?.deadLetters ?? 0, more: false, samples: page.items.map((dead) => dead.id) };
      }
      const id = activityIn(oneOf(target));
      const status = (await packets.status(id)) ?? unknownAddress([...ALL, id]);
      const sentence: Sentence =
        action === 'close'
          ? say('activity-close-what-for', { packets: status.remainingPackets, cents: status.remainingCents })
          : stateSentence(status);
      return one(id, sentence, status.state);
    },

    async run(action, target, _input, expected) {
      if (action === 'replay' || action === 'drop') {
        const { id, deadId } = deadTarget(target);
        if (action === 'replay') {
          return { count: await (deadId === undefined ? payouts.replayAll(id) : payouts.replay(id, [deadId])) };
        }
        return { count: await (deadId === undefined ? payouts.dropAll(id) : payouts.drop(id, [deadId])) };
      }
      const id = activityIn(oneOf(target));
      const status = (await packets.status(id)) ?? unknownAddress([...ALL, id]);
      if (expected !== undefined && expected !== status.state) {
        return refused(say('activity-changed', { state: status.state, expected }));
      }
      return act(action, id, status);
    },
  };
};

function activityIn(address: Address): string {
  const [, list, id] = address;
  return address.length === 3 && list === 'activities' && isIdOf(id, MAX_ID) ? id : unknownAddress(address);
}

/** Returns which dead-lettered payouts an action changes: one, or all of an activity. */
function deadTarget(target: Target): { readonly id: string; readonly deadId?: string } {
  const address = 'address' in target ? target.address : target.list;
  const [, list, id, inner, deadId] = address;
  if (list !== 'activities' || !isIdOf(id, MAX_ID)) return unknownAddress(address);
  if ('list' in target && target.filter !== undefined && target.filter !== '') {
    throw input.error(`filter is "${target.filter}". The list of dead-lettered payouts has no filter.`);
  }
  if (address.length === 3 && 'address' in target) return { id };
  if (inner !== 'dead-payouts') return unknownAddress(address);
  if ('list' in target) return address.length === 4 ? { id } : unknownAddress(address);
  return address.length === 5 && deadId !== undefined ? { id, deadId } : unknownAddress(address);
}

/** Returns the number of settled payouts: all grants, minus the open and the dead-lettered payouts. */
function paidOf({ grantedPackets, openPayouts, deadLetters }: ActivityStatus): number {
  return Math.max(0, grantedPackets - openPayouts - deadLetters);
}

const ACTIVITIES = table(
  'activity:link state totalCents:number packets:number remainingPackets:number grantedPackets:number paidPackets:number openPayouts:number deadPayouts:number endsAtMs:instant',
);
const WINNERS = table('user:link packetId amountCents:number grantedAtMs:instant');
const DEAD = table('payout:link user amountCents:number error attemptsMade:number deadAtMs:instant');
const PROBLEMS = table('problem');
const BUCKETS = table(
  'bucket:number allottedPackets:number allottedCents:number poolPackets:number poolCents:number grantedPackets:number grantedCents:number refundedPackets:number refundedCents:number sentPackets:number sentCents:number receivedPackets:number receivedCents:number',
);

function activityRow(status: ActivityStatus): Row {
  const { activityId: activity, deadLetters: deadPayouts } = status;
  const level = activitySentences(status).find((each) => each.level === 'error' || each.level === 'warning')?.level;
  return ACTIVITIES.row({ ...status, activity, deadPayouts, paidPackets: paidOf(status) }, [...ALL, activity], level);
}

function factsOf(status: ActivityStatus): Story['facts'] {
  const money =
    'state totalCents packets remainingCents remainingPackets grantedCents grantedPackets refundedCents refundedPackets movingCents movingPackets';
  const payouts = 'paidPackets openPayouts deadPayouts';
  const times = 'createdAtMs:instant startsAtMs:instant endsAtMs:instant expiresAtMs:instant settled activityKey';
  const values = { ...status, paidPackets: paidOf(status), deadPayouts: status.deadLetters };
  return [...facts(money, values), ...facts(payouts, values), ...facts(times, values)];
}

function bucketRow({ bucket, allotted, pool, granted, refunded, sent, received }: AuditResult['buckets'][number]): Row {
  return BUCKETS.row({
    ...{ bucket, allottedPackets: allotted.packets, allottedCents: allotted.cents },
    ...{ poolPackets: pool.packets, poolCents: pool.cents },
    ...{ grantedPackets: granted.packets, grantedCents: granted.cents },
    ...{ refundedPackets: refunded.packets, refundedCents: refunded.cents },
    ...{ sentPackets: sent.packets, sentCents: sent.cents },
    ...{ receivedPackets: received.packets, receivedCents: received.cents },
  });
}

function winnerStory(
  id: string,
  userId: string,
  packet: Awaited<ReturnType<RedPacketService['packetOf']>>,
): Story | undefined {
  return (
    packet && {
      title: userId,
      facts: facts('activity:link packetId amountCents grantedAtMs:instant', {
        ...packet,
        activity: link([...ALL, id]),
      }),
      sentences: [],
      actions: [],
    }
  );
}

function deadRow(activity: string, { id, payload, error, attemptsMade, deadAtMs }: DeadLetter): Row {
  const values = {
    payout: id,
    user: payload?.userId,
    amountCents: payload?.amountCents,
    error,
    attemptsMade,
    deadAtMs,
  };
  return DEAD.row(values, [...ALL, activity, 'dead-payouts', id], 'error');
}
