import { integer } from '../numbers';
import { NULL_ARRAY, refuse, StreamRows, SYNTAX_ERROR, unsupported, type Reply } from '../reply';
import type { ConsumerGroup } from '../streams/consumer-group';
import { Stream } from '../streams/stream';
import { HIGHEST_ID, idText, LOWEST_ID, parseId, type StreamId } from '../streams/stream-id';
import { at, writes, type Command, type CommandTable, type Context } from './command';
import { seen } from './stream-pending';
import { entryReply } from './streams';

const NEW = Symbol('new entries');
const MEANINGLESS_ID =
  'ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID would just return an empty result set.';

interface ReadOptions {
  group: string | undefined;
  consumer: string;
  most: number | undefined;
  noAck: boolean;
  streams: readonly string[];
}

function readOptions(name: string, args: readonly string[]): ReadOptions {
  const options: ReadOptions = { group: undefined, consumer: '', most: undefined, noAck: false, streams: [] };
  const onlyGroups = (option: string): void => {
    if (name !== 'xread') return;
    refuse(`ERR The ${option} option is only supported by XREADGROUP. You called XREAD instead.`);
  };
  for (let index = 0; index < args.length; index++) {
    const word = at(args, index).toUpperCase();
    const left = args.length - index - 1;
    if (word === 'BLOCK' && left > 0) {
      throw unsupported('BLOCK');
    } else if (word === 'COUNT' && left > 0) {
      const count = integer(at(args, ++index));
      options.most = count <= 0 ? undefined : count;
    } else if (word === 'STREAMS' && left > 0) {
      options.streams = args.slice(index + 1);
      break;
    } else if (word === 'GROUP' && left > 1) {
      onlyGroups('GROUP');
      [options.group, options.consumer] = [at(args, index + 1), at(args, index + 2)];
      index += 2;
    } else if (word === 'NOACK') {
      onlyGroups('NOACK');
      options.noAck = true;
    } else refuse(SYNTAX_ERROR);
  }
  if (options.streams.length % 2 !== 0) {
    refuse("ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified.");
  }
  if (options.streams.length === 0) refuse(SYNTAX_ERROR);
  if (name === 'xreadgroup' && options.group === undefined) refuse('ERR Missing GROUP option for XREADGROUP');
  return options;
}

/** Returns the id after which XREAD or XREADGROUP begins. */
function startOf({ db }: Context, key: string, text: string, groupName: string | undefined): StreamId | typeof NEW {
  const stream = db.read(key, Stream);
  if (groupName !== undefined && stream?.groups.get(groupName) === undefined) {
    refuse(`NOGROUP No such key '${key}' or consumer group '${groupName}' in XREADGROUP with GROUP option`);
  }
  if (text === '$') return groupName === undefined ? (stream?.lastId ?? LOWEST_ID) : refuse(MEANINGLESS_ID);
  if (text !== '>') return parseId(text);
  if (groupName !== undefined) return NEW;
  refuse('ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.');
}

function read(name: 'xread' | 'xreadgroup', arity: number): Command {
  return writes(arity, (context, args) => {
    const options = readOptions(name, args);
    const half = options.streams.length / 2;
    const keys = options.streams.slice(0, half);
    const starts = keys.map((key, index) => startOf(context, key, at(options.streams, half + index), options.group));
    const rows: [Reply, Reply][] = [];
    for (const [index, key] of keys.entries()) {
      const entries = readStream(context, key, starts[index] as StreamId | typeof NEW, options);
      if (entries !== undefined) rows.push([key, entries]);
    }
    return rows.length === 0 ? NULL_ARRAY : new StreamRows(rows);
  });
}

function readStream(
  { db }: Context,
  key: string,
  start: StreamId | typeof NEW,
  options: ReadOptions,
): Reply[] | undefined {
  const { most, group: groupName } = options;
  if (groupName === undefined) {
    const stream = db.read(key, Stream);
    const from = (start as StreamId) + 1n;
    const entries = stream === undefined || start === HIGHEST_ID ? [] : stream.range(from, HIGHEST_ID, false, most);
    return entries.length === 0 ? undefined : entries.map(entryReply);
  }
  const stream = db.change(key, Stream);
  const group = stream?.groups.get(groupName);
  if (stream === undefined || group === undefined) return undefined;
  if (start !== NEW) return readHistory(stream, group, start, options, db.nowMs);
  return readNew(stream, group, options, db.nowMs);
}

function readNew(
  stream: Stream,
  group: ConsumerGroup,
  { consumer: name, most, noAck }: ReadOptions,
  nowMs: number,
): Reply[] | undefined {
  const entries = stream.range(group.lastId + 1n, HIGHEST_ID, false, most);
  if (entries.length === 0) return undefined;
  const consumer = seen(group, name, nowMs);
  for (const { id } of entries) {
    stream.noteRead(group, id);
    if (!noAck) group.setPending({ id, consumer, deliveredAtMs: nowMs, deliveries: 1n });
  }
  return entries.map(entryReply);
}

/** Delivers the entries again that a consumer has received, but not acknowledged. */
function readHistory(
  stream: Stream,
  group: ConsumerGroup,
  start: StreamId,
  { consumer: name, most }: ReadOptions,
  nowMs: number,
): Reply[] {
  const consumer = seen(group, name, nowMs);
  const held = group.pendingRange(start + 1n, HIGHEST_ID).filter((entry) => entry.consumer === consumer);
  return held.slice(0, most).map((pending): Reply => {
    const entry = stream.find(pending.id);
    if (entry === undefined) return [idText(pending.id), NULL_ARRAY];
    group.setPending({ ...pending, deliveredAtMs: nowMs, deliveries: pending.deliveries + 1n });
    return entryReply(entry);
  });
}

export const streamReadCommands: CommandTable = {
  xread: { ...read('xread', -4), writes: false },
  xreadgroup: read('xreadgroup', -7),
};
