import type { ActivityStatus, AuditResult, Grant, RedPacketPayouts, RedPacketService } from 'luanest/red-packet';
import { CONSOLE, isIdOf } from '../../../internal/src';
import type { Address, Column, Done, Listing, Row, Section, SectionFactory, Sentence, Target } from '../console.types';
import { activitySentences, auditSentence, stateSentence } from './red-packet-sentences';
import { at, input, link, oneOf, refused, unknownAction, unknownAddress } from './support';
import { say } from './sentences';

type DeadLetter = Awaited<ReturnType<RedPacketPayouts['deadLetters']>>['items'][number];

const ALL = ['red-packets', 'activities'] as const;
const MAX_ID = 128;
/** Number of activities that the summary reads, and in which `find` looks for a user. They are the ones that end last. */
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
    const page = await payouts.deadLetters(id, {
      limit: Math.min(limit, 500),
      ...(cursor !== undefined && { cursor }),
    });
    return listDead(id, page.items, page.nextCursor);
  };
  /**
   * Returns a page of winners. Reads several pages of `records`, because such a page has grants of only one bucket and may be
   * empty.
   */
  const winnersPage = async (id: string, limit: number, cursor: string | undefined): Promise<Listing> => {
    const grants: Grant[] = [];
    let next = cursor;
    do {
      const page = await packets.records(id, {
        limit: Math.min(limit, 1_000),
        ...(next !== undefined && { cursor: next }),
      });
      grants.push(...page.items);
      next = page.nextCursor;
    } while (grants.length < limit && next !== undefined);
    return listWinners(id, grants, next);
  };
  const deadOf = async (id: string, deadId: string): Promise<DeadLetter | undefined> => {
    let cursor: string | undefined;
    for (let read = 0; read < MOST_DEAD; read += 500) {
      const page = await payouts.deadLetters(id, { limit: 500, ...(cursor !== undefined && { cursor }) });
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

  const story = async (id: string): ReturnType<Section['show']> => {
    const [status, audit] = await Promise.all([packets.status(id), packets.audit(id)]);
    if (status === undefined || audit === undefined) return undefined;
    const lists = [
      { name: 'buckets', listing: listBuckets(audit) },
      ...(audit.ok ? [] : [{ name: 'problems', listing: listProblems(audit) }]),
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

  const section: Section = {
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
      return { columns: ACTIVITIES, rows, total, ...(nextCursor !== undefined && { nextCursor }) };
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
        facts: [
          { name: 'activity', value: link([...ALL, id]) },
          { name: 'payload', value: context.payload(dead.payload) },
          { name: 'error', value: dead.error ?? null },
          { name: 'attemptsMade', value: dead.attemptsMade },
          { name: 'firstSeenAtMs', value: at(dead.firstSeenAtMs) },
          { name: 'deadAtMs', value: at(dead.deadAtMs) },
        ],
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
          return { count: found ? 1 : 0, more: false, samples: found ? [deadId] : [] };
        }
        const [stats, page] = await Promise.all([payouts.stats(id), payouts.deadLetters(id, { limit: 10 })]);
        return { count: stats?.deadLetters ?? 0, more: false, samples: page.items.map((dead) => dead.id) };
      }
      const id = activityIn(oneOf(target, action));
      if (!['pause', 'resume', 'close'].includes(action)) return unknownAction('red-packets', section.actions, action);
      const status = (await packets.status(id)) ?? unknownAddress([...ALL, id]);
      const sentence: Sentence =
        action === 'close'
          ? say('activity-close-what-for', { packets: status.remainingPackets, cents: status.remainingCents })
          : stateSentence(status);
      return { count: 1, more: false, samples: [id], sentence, expected: status.state };
    },

    async run(action, target, _input, expected) {
      if (action === 'replay' || action === 'drop') {
        const { id, deadId } = deadTarget(target);
        if (action === 'replay') {
          return { count: await (deadId === undefined ? payouts.replayAll(id) : payouts.replay(id, [deadId])) };
        }
        return { count: await (deadId === undefined ? payouts.dropAll(id) : payouts.drop(id, [deadId])) };
      }
      const id = activityIn(oneOf(target, action));
      if (!['pause', 'resume', 'close'].includes(action)) return unknownAction('red-packets', section.actions, action);
      const status = (await packets.status(id)) ?? unknownAddress([...ALL, id]);
      if (expected !== undefined && expected !== status.state) {
        return refused(say('activity-changed', { state: status.state, expected }));
      }
      return act(action, id, status);
    },
  };
  return section;
};

function activityIn(address: Address): string {
  const [, list, id] = address;
  return address.length === 3 && list === 'activities' && isIdOf(id, MAX_ID) ? id : unknownAddress(address);
}

/** Returns the dead-lettered payouts that an action is for: one of them, or all of an activity. */
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

/** Returns the number of settled payouts: all grants without the open and the dead-lettered payouts. */
function paidOf({ grantedPackets, openPayouts, deadLetters }: ActivityStatus): number {
  return Math.max(0, grantedPackets - openPayouts - deadLetters);
}

const ACTIVITIES: readonly Column[] = [
  { name: 'activity', kind: 'link' },
  { name: 'state' },
  { name: 'totalCents', kind: 'number' },
  { name: 'packets', kind: 'number' },
  { name: 'remainingPackets', kind: 'number' },
  { name: 'grantedPackets', kind: 'number' },
  { name: 'paidPackets', kind: 'number' },
  { name: 'openPayouts', kind: 'number' },
  { name: 'deadPayouts', kind: 'number' },
  { name: 'endsAtMs', kind: 'instant' },
];

function activityRow(status: ActivityStatus): Row {
  const { activityId, state, totalCents, packets, remainingPackets, grantedPackets } = status;
  const address = [...ALL, activityId];
  const cells = [
    ...[link(address), state, totalCents, packets, remainingPackets, grantedPackets],
    ...[paidOf(status), status.openPayouts, status.deadLetters, at(status.endsAtMs)],
  ];
  const level = activitySentences(status).find((each) => each.level === 'error' || each.level === 'warning')?.level;
  return { address, cells, ...(level !== undefined && { level }) };
}

function factsOf(status: ActivityStatus): { name: string; value: Row['cells'][number] }[] {
  const { activityKey, state, settled } = status;
  return [
    { name: 'state', value: state },
    ...(
      [
        ['totalCents', 'packets', 'remainingCents', 'remainingPackets', 'grantedCents', 'grantedPackets'],
        ['refundedCents', 'refundedPackets', 'movingCents', 'movingPackets'],
      ] as const
    )
      .flat()
      .map((name) => ({ name, value: status[name] })),
    { name: 'paidPackets', value: paidOf(status) },
    { name: 'openPayouts', value: status.openPayouts },
    { name: 'deadPayouts', value: status.deadLetters },
    ...(['createdAtMs', 'startsAtMs', 'endsAtMs', 'expiresAtMs'] as const).map((name) => ({
      name,
      value: at(status[name]),
    })),
    { name: 'settled', value: settled },
    { name: 'activityKey', value: activityKey },
  ];
}

function listBuckets({ buckets }: AuditResult): Listing {
  const parts = ['allotted', 'pool', 'granted', 'refunded', 'sent', 'received'] as const;
  return {
    columns: [
      { name: 'bucket', kind: 'number' },
      ...parts.flatMap((part): Column[] => [
        { name: `${part}Packets`, kind: 'number' },
        { name: `${part}Cents`, kind: 'number' },
      ]),
    ],
    rows: buckets.map((books) => ({
      cells: [books.bucket, ...parts.flatMap((part) => [books[part].packets, books[part].cents])],
    })),
    total: buckets.length,
  };
}

function listProblems({ problems }: AuditResult): Listing {
  const rows = problems.map((problem): Row => ({ cells: [problem], level: 'error' }));
  return { columns: [{ name: 'problem' }], rows, total: rows.length };
}

function listWinners(id: string, grants: readonly Grant[], nextCursor: string | undefined): Listing {
  return {
    columns: [
      { name: 'user', kind: 'link' },
      { name: 'packetId' },
      { name: 'amountCents', kind: 'number' },
      { name: 'grantedAtMs', kind: 'instant' },
    ],
    rows: grants.map(({ userId, packetId, amountCents, grantedAtMs }) => {
      const address = [...ALL, id, 'winners', userId];
      return { address, cells: [link(address), packetId, amountCents, at(grantedAtMs)] };
    }),
    ...(nextCursor !== undefined && { nextCursor }),
  };
}

function winnerStory(
  id: string,
  userId: string,
  packet: Awaited<ReturnType<RedPacketService['packetOf']>>,
): Awaited<ReturnType<Section['show']>> {
  if (packet === undefined) return undefined;
  return {
    title: userId,
    facts: [
      { name: 'activity', value: link([...ALL, id]) },
      { name: 'packetId', value: packet.packetId },
      { name: 'amountCents', value: packet.amountCents },
      { name: 'grantedAtMs', value: at(packet.grantedAtMs) },
    ],
    sentences: [],
    actions: [],
  };
}

function listDead(id: string, dead: readonly DeadLetter[], nextCursor: string | undefined): Listing {
  return {
    columns: [
      { name: 'payout', kind: 'link' },
      { name: 'user' },
      { name: 'amountCents', kind: 'number' },
      { name: 'error' },
      { name: 'attemptsMade', kind: 'number' },
      { name: 'deadAtMs', kind: 'instant' },
    ],
    rows: dead.map(({ id: deadId, payload, error, attemptsMade, deadAtMs }): Row => {
      const address = [...ALL, id, 'dead-payouts', deadId];
      const paid = [payload?.userId ?? null, payload?.amountCents ?? null];
      return { address, cells: [link(address), ...paid, error ?? null, attemptsMade, at(deadAtMs)], level: 'error' };
    }),
    ...(nextCursor !== undefined && { nextCursor }),
  };
}
