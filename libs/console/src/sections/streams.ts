import type { StreamConsumerService } from 'luanest/stream-consumer';
import { CONSOLE } from '../../../internal/src';
import type { Action, Listing, Match, Row, SectionFactory, Sentence, Story } from '../console.types';
import { parseFilter } from './filters';
import { MOST_OF_SEARCH, scanPage, scanSentences, taggedKeys } from './scan';
import { streamActions } from './stream-actions';
import { messageIn, storyOfMessage } from './stream-message';
import { addressOfGroup, sentencesOfGroup, sumOf, type Stats, type Stream } from './stream-sentences';
import { say } from './sentences';
import { link, pageOf, unknownAddress } from './support';
import { facts, table, type Table } from './table';

const ACTIONS: readonly Action[] = [
  { name: 'replay', danger: false, on: 'both', lists: ['dead'] },
  { name: 'drop', danger: true, on: 'both', lists: ['dead'] },
  { name: 'pause', danger: false, on: 'one' },
  { name: 'resume', danger: false, on: 'one' },
];

const STREAMS = table(
  'stream:link partitions:number groups:number length:number lag:number pending:number dead:number oldestMs:duration',
);
const GROUPS = table(
  'group:link stream lag:number pending:number due:number parked:number dead:number oldestMs:duration paused',
);
const DEAD = table('id:link stream group error attemptsMade:number deadAtMs:instant key payload:payload');
const PARTITIONS = table(
  'partition:number length:number lag:number pending:number due:number parked:number dead:number oldestMs:duration',
);
const CONSUMERS = table('consumer partition:number pending:number leaseEndsAtMs:instant');

/**
 * MOST_STREAMS limits the streams in the summary, MOST_GROUPS the groups of a stream, and MOST_DEAD the dead letters in the details of a
 * group.
 */
const [MOST_STREAMS, MOST_GROUPS, MOST_DEAD] = [100, 50, 20];
/**
 * MOST_SEARCHED limits the streams in a search for a message and in the list of dead letters. AT_A_TIME is the number of streams whose dead
 * letters are read at the same time.
 */
const [MOST_SEARCHED, AT_A_TIME] = [1_000, 50];

interface Group {
  readonly stream: Stream;
  readonly group: string;
  readonly parts: readonly Stats[];
  readonly stats: Stats;
  readonly paused: boolean;
}

/** Section of the streams. It shows how far each group has read, its consumers, the messages that wait, and the dead letters. */
export const streamsSection: SectionFactory = (app, context) => {
  const service = app.find('StreamConsumerService') as StreamConsumerService | undefined;
  if (service === undefined) return undefined;
  const streams = service[CONSOLE]();
  const { registry } = streams;
  const { pattern, tagOf } = taggedKeys(registry, 'stream-consumer', 'config');

  return {
    name: 'streams',
    lists: [
      { name: 'streams', filters: [] },
      { name: 'groups', filters: ['stream:'] },
      { name: 'dead', filters: ['stream:', 'group:'] },
    ],
    actions: ACTIONS,

    async summary() {
      const own = [...new Set(streams.ownGroups().map(({ stream }) => stream))].slice(0, MOST_STREAMS);
      const groups = (await Promise.all((await opened(own)).map(groupsOf))).flat();
      const sum = (of: (stats: Stats) => number): number => groups.reduce((total, { stats }) => total + of(stats), 0);
      const sentences = groups.flatMap(({ stream, group, stats, paused }) =>
        sentencesOfGroup(stream.name, group, stats, paused, -1).filter(({ level }) => level !== 'ok'),
      );
      return {
        figures: [
          { name: 'streams', value: own.length, address: ['streams', 'streams'] },
          { name: 'groups', value: groups.length, address: ['streams', 'groups'] },
          { name: 'lag', value: sum(({ lag }) => lag), address: ['streams', 'groups'] },
          { name: 'pending', value: sum(({ pending }) => pending), address: ['streams', 'groups'] },
          { name: 'dead', value: sum(({ dead }) => dead), address: ['streams', 'dead'] },
        ],
        sentences: sentences.slice(0, MOST_STREAMS),
      };
    },

    async list(address, { filter, cursor, limit }) {
      const [, list = '', ...names] = address;
      if (list === 'groups' && names.length === 3) return partOf(names as [string, string, string], cursor, limit);
      if (names.length > 0) return unknownAddress(address);
      if (list === 'streams') return pageOfStreams(STREAMS, cursor, limit, streamRow);
      const { stream, group } = parseFilter(filter, list === 'dead' ? ['stream:', 'group:'] : ['stream:']);
      if (list === 'dead') return deadPage(stream, group, cursor, limit);
      if (list !== 'groups') return unknownAddress(address);
      if (stream === undefined) return pageOfStreams(GROUPS, cursor, limit, groupRows);
      const [one] = await opened([stream]);
      return GROUPS.page(one ? await groupRows(one) : []);
    },

    async show(address) {
      const [, list, name = '', group, id] = address;
      const stream = await streams.open(name);
      if (stream === undefined) return undefined;
      if (list === 'streams' && address.length === 3) return storyOfStream(stream);
      if (list === 'groups' && address.length === 4) return storyOfGroup(stream, group as string);
      if (list === 'messages' && address.length === 4) return storyOfMessage(context, stream, group as string);
      if (list === 'dead' && address.length === 5) return storyOfMessage(context, stream, id as string, group);
      return undefined;
    },

    async find(id) {
      if (/^\d{1,4}:\d{1,20}-\d{1,20}$/.test(id)) {
        const { names, areAll } = await allNames();
        const found = await Promise.all((await opened(names)).map((stream) => messageIn(stream, id)));
        const rest: Match = { address: ['streams', 'streams'], kind: 'streams', title: id, sentence: IN_PART };
        return areAll ? found.flat() : [...found.flat(), rest];
      }
      const stream = await streams.open(id);
      return stream ? [{ address: ['streams', 'streams', id], kind: 'stream', title: id }] : [];
    },

    ...streamActions(streams),
  };
  async function opened(names: readonly string[]): Promise<Stream[]> {
    const found = await Promise.all(names.map((name) => streams.open(name)));
    return found.filter((stream) => stream !== undefined);
  }

  /**
   * Returns the names of the streams that this process uses, and of the streams that a scan of up to 100,000 keys finds. `areAll` is false
   * if Redis may have more streams.
   */
  async function allNames(): Promise<{ readonly names: readonly string[]; readonly areAll: boolean }> {
    const query = { limit: MOST_SEARCHED, mostVisited: MOST_OF_SEARCH };
    const { items, nextCursor } = await scanPage(registry, pattern, query, (keys) => Promise.resolve(keys.map(tagOf)));
    const names = [...new Set([...streams.known, ...items])];
    const areAll = nextCursor === undefined && names.length <= MOST_SEARCHED;
    return { names: names.slice(0, MOST_SEARCHED).sort(), areAll };
  }

  async function groupsOf(stream: Stream): Promise<Group[]> {
    return Promise.all(stream.groupNames.slice(0, MOST_GROUPS).map((group) => groupOf(stream, group)));
  }

  async function groupOf(stream: Stream, group: string): Promise<Group> {
    const parts = await stream.statsOf(group);
    return { stream, group, parts, stats: sumOf(parts), paused: stream.pausedNames.includes(group) };
  }

  /**
   * Returns a page of the list of streams. The streams that this process uses come first, by name. A scan of the keys finds the others. The
   * cursor is `+<name>` after a stream that this process uses, and otherwise the cursor of the scan.
   */
  async function pageOfStreams(
    of: Pick<Table<''>, 'page'>,
    cursor: string | undefined,
    limit: number,
    rowsOf: (stream: Stream) => Promise<readonly Row[]>,
  ): Promise<Listing> {
    const known = [...streams.known].sort();
    const from = cursor === undefined ? 0 : known.findIndex((name) => name > cursor.slice(1));
    const isKnown = cursor === undefined || cursor.startsWith('+');
    const names = isKnown && from >= 0 ? known.slice(from, from + limit) : [];
    const rows = (await Promise.all((await opened(names)).map(rowsOf))).flat();
    const last = names.at(-1);
    if (last !== undefined && last !== known.at(-1)) return of.page(rows, `+${last}`);
    const left = limit - names.length;
    if (left <= 0) return of.page(rows, `+${last ?? ''}`);
    const page = { limit: left, ...(!isKnown && { cursor }) };
    const { items, nextCursor } = await scanPage(registry, pattern, page, async (keys) => {
      const others = keys.map(tagOf).filter((name) => !streams.known.includes(name));
      return (await opened(others)).map((stream) => rowsOf(stream));
    });
    rows.push(...(await Promise.all(items)).flat());
    return { ...of.page(rows, nextCursor), sentences: scanSentences(rows, nextCursor, limit) };
  }

  async function streamRow(stream: Stream): Promise<Row[]> {
    const groups = await groupsOf(stream);
    const total = sumOf(groups.map(({ stats }) => stats));
    const length = groups[0]?.stats.length;
    const counts = { ...total, length, oldestMs: age(total.oldestMs), groups: groups.length };
    const isWell = total.dead === 0 && groups.every(({ paused }) => !paused);
    const values = { ...counts, stream: stream.name, partitions: (await stream.all()).length };
    return [STREAMS.row(values, ['streams', 'streams', stream.name], !isWell && 'warning')];
  }

  async function groupRows(stream: Stream): Promise<Row[]> {
    const groups = await groupsOf(stream);
    return groups.map(({ group, stats, paused }) => {
      const level = sentencesOfGroup(stream.name, group, stats, paused, -1)[0]?.level;
      const values = { ...stats, group, stream: stream.name, oldestMs: age(stats.oldestMs), paused };
      return GROUPS.row(values, addressOfGroup(stream.name, group), level);
    });
  }

  /**
   * Returns a page of the dead letters of all groups, one group after the other. The cursor is `<stream> <group> <cursor in this group>`.
   */
  async function deadPage(
    ofStream: string | undefined,
    ofGroup: string | undefined,
    cursor: string | undefined,
    limit: number,
  ): Promise<Listing> {
    const { names, areAll } = ofStream === undefined ? await allNames() : { names: [ofStream], areAll: true };
    const list = { columns: DEAD.columns, ...(!areAll && { sentences: [IN_PART] }) };
    const [atStream, atGroup, at0] = cursor?.split(' ') ?? [];
    const rows: Row[] = [];
    const left = names.filter((name) => atStream === undefined || name >= atStream);
    for (let from = 0; from < left.length; from += AT_A_TIME) {
      const groups = (await opened(left.slice(from, from + AT_A_TIME))).flatMap((stream) =>
        stream.groupNames.toSorted().map((group) => ({ stream, group })),
      );
      const chosen = groups.filter(({ stream, group }) => {
        const isBefore = stream.name === atStream && group < (atGroup ?? '');
        return !isBefore && (ofGroup === undefined || group === ofGroup);
      });
      const pages = await Promise.all(
        chosen.map(async ({ stream, group }) => {
          const after = stream.name === atStream && group === atGroup ? at0 : undefined;
          const page = await deadRows(stream, group, after, limit);
          return { start: `${stream.name} ${group} `, ...page };
        }),
      );
      for (const page of pages) {
        for (const row of page.rows) {
          if (rows.length === limit) return { ...list, rows, nextCursor: cursorBefore(page, row) };
          rows.push(row);
        }
        if (page.nextCursor !== undefined) return { ...list, rows, nextCursor: `${page.start}${page.nextCursor}` };
      }
    }
    return { ...list, rows };
  }

  async function deadRows(stream: Stream, group: string, cursor: string | undefined, limit: number) {
    const { items, nextCursor } = await streams.dead.page(
      stream,
      group,
      pageOf({ limit, cursor: cursor === '' ? undefined : cursor }),
    );
    const rows = items.map((dead) => {
      const values = { ...dead, stream: stream.name, group, payload: context.payload(dead.payload) };
      return DEAD.row(values, ['streams', 'dead', stream.name, group, dead.id]);
    });
    return DEAD.page(rows, nextCursor);
  }

  /** Returns a list of a group: its dead letters, partitions or consumers. */
  async function partOf([name, group, part]: [string, string, string], cursor: string | undefined, limit: number) {
    const address = [...addressOfGroup(name, group), part];
    const stream = (await streams.open(name)) ?? unknownAddress(address);
    if (part === 'dead') return deadRows(stream, group, cursor, limit);
    if (part === 'partitions') return partitionsOf(await stream.statsOf(group));
    return part === 'consumers' ? consumersOf(stream, group) : unknownAddress(address);
  }

  async function consumersOf(stream: Stream, group: string): Promise<Listing> {
    const parts = await stream.consumersOf(group);
    const rows = parts.flatMap(({ consumers, nowMs }, partition) =>
      consumers.map(({ name: consumer, pending, leaseEndsAtMs }) => {
        const isLost = leaseEndsAtMs <= nowMs;
        return CONSUMERS.row({ consumer, partition, pending, leaseEndsAtMs }, undefined, isLost && 'warning');
      }),
    );
    return CONSUMERS.page(rows);
  }

  async function storyOfStream(stream: Stream): Promise<Story> {
    const groups = await groupsOf(stream);
    return {
      title: stream.name,
      facts: facts('partitions length ofOtherProgram', {
        ...{
          partitions: (await stream.all()).length,
          length: groups[0]?.stats.length,
          ofOtherProgram: stream.isForeign,
        },
      }),
      sentences: groups.flatMap(({ group, stats, paused }) => sentencesOfGroup(stream.name, group, stats, paused, -1)),
      lists: [{ name: 'groups', listing: GROUPS.page(await groupRows(stream)) }],
      actions: [],
    };
  }

  async function storyOfGroup(stream: Stream, group: string): Promise<Story | undefined> {
    if (!stream.groupNames.includes(group)) return undefined;
    const [{ parts, stats, paused }, consumers, of, dead] = await Promise.all([
      groupOf(stream, group),
      consumersOf(stream, group),
      stream.consumersOf(group),
      deadRows(stream, group, undefined, MOST_DEAD),
    ]);
    const listeners = Math.min(...of.map((each) => each.listeners));
    const values = {
      ...stats,
      stream: link(['streams', 'streams', stream.name]),
      paused,
      oldestMs: age(stats.oldestMs),
    };
    return {
      title: group,
      facts: facts('stream:link paused length lag pending due parked dead oldestMs:duration leases processes', {
        ...{ ...values, leases: stats.sessions, processes: listeners < 0 ? undefined : listeners },
      }),
      sentences: sentencesOfGroup(stream.name, group, stats, paused, listeners),
      lists: [
        { name: 'partitions', listing: partitionsOf(parts) },
        { name: 'consumers', listing: consumers },
        { name: 'dead', listing: dead },
      ],
      actions: [paused ? 'resume' : 'pause'],
    };
  }
};

const IN_PART: Sentence = say('streams-searched-in-part');

function partitionsOf(parts: readonly Stats[]): Listing {
  return PARTITIONS.all(
    parts.map((part, partition) => PARTITIONS.row({ ...part, partition, oldestMs: age(part.oldestMs) })),
  );
}

/** Returns the cursor of the page of dead letters that begins with `row`. */
function cursorBefore({ start, rows }: { readonly start: string; readonly rows: readonly Row[] }, row: Row): string {
  return `${start}${rows[rows.indexOf(row) - 1]?.address?.at(-1) ?? ''}`;
}

function age(ms: number): number | undefined {
  return ms < 0 ? undefined : ms;
}
