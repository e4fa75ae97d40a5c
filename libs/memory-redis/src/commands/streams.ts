import { bigInteger, integer } from '../numbers';
import { NULL_ARRAY, OK, refuse, SYNTAX_ERROR, type Reply } from '../reply';
import { Stream, type StreamEntry } from '../streams/stream';
import {
  HIGHEST_ID,
  idOf,
  idText,
  LOWEST_ID,
  msOf,
  parseBound,
  parseId,
  sequenceOf,
  type StreamId,
} from '../streams/stream-id';
import { at, isWord, reads, writes, wrongNumber, type Command, type CommandTable, type Context } from './command';

const TOO_SMALL = 'ERR The ID specified in XADD is equal or smaller than the target stream top item';
/** Redis stores the entries of a stream in blocks of this many, and trimming with `~` removes only whole blocks. */
const PIECE = 100;

export function entryReply({ id, fields }: StreamEntry): Reply {
  return [idText(id), fields];
}

interface Trim {
  readonly by: 'MAXLEN' | 'MINID';
  readonly most: number;
  readonly minId: StreamId;
  readonly isApproximate: boolean;
}

interface AddOptions {
  makesStream: boolean;
  trim: Trim | undefined;
  /** Index of the first argument after the options. */
  next: number;
}

/** Reads the options of XADD and XTRIM. */
function readOptions(args: readonly string[], isAdd: boolean): AddOptions {
  const options: AddOptions = { makesStream: true, trim: undefined, next: 1 };
  let limit: number | undefined;
  for (; options.next < args.length; options.next++) {
    const word = at(args, options.next).toUpperCase();
    const hasMore = options.next + 1 < args.length;
    if ((word === 'MAXLEN' || word === 'MINID') && hasMore) {
      if (options.trim) refuse('ERR syntax error, MAXLEN and MINID options at the same time are not compatible');
      options.trim = readTrim(word, args, options);
    } else if (word === 'LIMIT' && hasMore) {
      limit = integer(at(args, ++options.next));
      if (limit < 0) refuse('ERR The LIMIT argument must be >= 0.');
    } else if (word === 'NOMKSTREAM' && isAdd) {
      options.makesStream = false;
    } else if (isAdd) break;
    else refuse(SYNTAX_ERROR);
  }
  if (isAdd && options.next < args.length) readNewId(at(args, options.next));
  if (limit !== undefined && limit > 0 && !options.trim) {
    refuse('ERR syntax error, LIMIT cannot be used without specifying a trimming strategy');
  }
  if (!isAdd && !options.trim) refuse('ERR syntax error, XTRIM must be called with a trimming strategy');
  if (limit !== undefined && options.trim?.isApproximate !== true) {
    refuse('ERR syntax error, LIMIT cannot be used without the special ~ option');
  }
  return options;
}

function readTrim(by: Trim['by'], args: readonly string[], options: AddOptions): Trim {
  const sign = args[options.next + 1];
  const hasSign = (sign === '~' || sign === '=') && options.next + 2 < args.length;
  options.next += hasSign ? 2 : 1;
  const value = at(args, options.next);
  const isApproximate = hasSign && sign === '~';
  if (by === 'MINID') return { by, minId: parseId(value), most: 0, isApproximate };
  const most = integer(value);
  if (most < 0) refuse('ERR The MAXLEN argument must be >= 0.');
  return { by, most, minId: LOWEST_ID, isApproximate };
}

function trim(stream: Stream, { by, most, minId, isApproximate }: Trim): number {
  const surplus = by === 'MAXLEN' ? Math.max(0, stream.size - most) : stream.indexOf(minId);
  return stream.trim(isApproximate ? surplus - (surplus % PIECE) : surplus);
}

/** Reads the id argument of XADD. @returns a function that calculates the id of the new entry from the last id of the stream */
function readNewId(text: string): (lastId: StreamId, nowMs: number) => StreamId {
  if (text === '*') {
    return (lastId, nowMs) => (BigInt(nowMs) > msOf(lastId) ? idOf(BigInt(nowMs), 0n) : lastId + 1n);
  }
  if (!text.endsWith('-*')) {
    const id = parseId(text);
    return () => id;
  }
  const ms = msOf(parseId(`${text.slice(0, -2)}-0`));
  return (lastId) => {
    if (msOf(lastId) !== ms) return idOf(ms, 0n);
    return sequenceOf(lastId) === sequenceOf(HIGHEST_ID)
      ? refuse('ERR Elements are too large to be stored')
      : lastId + 1n;
  };
}

function add({ db }: Context, args: readonly string[]): Reply {
  const key = at(args, 0);
  const { makesStream, trim: trimming, next } = readOptions(args, true);
  const fields = args.slice(next + 1);
  if (fields.length < 2 || fields.length % 2 !== 0) throw wrongNumber('xadd');
  const text = at(args, next);
  const makeId = readNewId(text);
  if (text !== '*' && !text.endsWith('-*') && parseId(text) === LOWEST_ID) {
    refuse('ERR The ID specified in XADD must be greater than 0-0');
  }
  const known = db.change(key, Stream);
  if (known === undefined && !makesStream) return null;
  const stream = known ?? db.add(key, new Stream());
  if (stream.lastId === HIGHEST_ID) {
    refuse('ERR The stream has exhausted the last possible ID, unable to add more items');
  }
  const id = makeId(stream.lastId, db.nowMs);
  if (id <= stream.lastId) refuse(TOO_SMALL);
  stream.add(id, fields);
  if (trimming !== undefined) trim(stream, trimming);
  return idText(id);
}

function range(isReverse: boolean): Command {
  return reads(-4, ({ db }, args) => {
    const [first, second] = [at(args, 1), at(args, 2)];
    const from = parseBound(isReverse ? second : first, true);
    const to = parseBound(isReverse ? first : second, false);
    const most = countOption(args.slice(3));
    const stream = db.read(at(args, 0), Stream);
    if (stream === undefined) return [];
    return most === 0 ? NULL_ARRAY : stream.range(from, to, isReverse, most).map(entryReply);
  });
}

function countOption(args: readonly string[]): number | undefined {
  let count: number | undefined;
  for (let index = 0; index < args.length; index += 2) {
    if (!isWord(args[index], 'COUNT') || index + 1 >= args.length) refuse(SYNTAX_ERROR);
    count = Math.max(0, integer(at(args, index + 1)));
  }
  return count;
}

/** Reads the options ENTRIESADDED and MAXDELETEDID of XSETID. */
function setIdOptions(id: StreamId, options: readonly string[]): { entriesAdded?: bigint; maxDeletedId?: StreamId } {
  const found: { entriesAdded?: bigint; maxDeletedId?: StreamId } = {};
  for (let index = 0; index < options.length; index += 2) {
    const value = options[index + 1];
    if (value === undefined) refuse(SYNTAX_ERROR);
    if (isWord(options[index], 'ENTRIESADDED')) {
      const count = bigInteger(value);
      found.entriesAdded = count < 0n ? refuse('ERR entries_added must be positive') : count;
    } else if (isWord(options[index], 'MAXDELETEDID')) {
      found.maxDeletedId = parseId(value);
      if (id < found.maxDeletedId) {
        refuse('ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id');
      }
    } else refuse(SYNTAX_ERROR);
  }
  return found;
}

export const streamCommands: CommandTable = {
  xadd: writes(-5, add),
  xdel: writes(-3, ({ db }, [key = '', ...ids]) => {
    const stream = db.change(key, Stream);
    return stream === undefined ? 0 : ids.map((id) => parseId(id)).filter((id) => stream.remove(id)).length;
  }),
  xlen: reads(2, ({ db }, args) => db.read(at(args, 0), Stream)?.size ?? 0),
  xrange: range(false),
  xrevrange: range(true),
  xsetid: writes(-3, ({ db }, [key = '', text = '', ...options]) => {
    const id = parseId(text);
    const { entriesAdded, maxDeletedId } = setIdOptions(id, options);
    const stream = db.change(key, Stream);
    if (stream === undefined) refuse('ERR no such key');
    if (id < stream.maxDeletedId) {
      refuse('ERR The ID specified in XSETID is smaller than current max_deleted_entry_id');
    }
    if (stream.size > 0 && id < (stream.entries.at(-1)?.id ?? LOWEST_ID)) {
      refuse('ERR The ID specified in XSETID is smaller than the target stream top item');
    }
    if (stream.size > 0 && entriesAdded !== undefined && entriesAdded < BigInt(stream.size)) {
      refuse('ERR The entries_added specified in XSETID is smaller than the target stream length');
    }
    stream.lastId = id;
    stream.entriesAdded = entriesAdded ?? stream.entriesAdded;
    stream.maxDeletedId = maxDeletedId ?? stream.maxDeletedId;
    return OK;
  }),
  xtrim: writes(-4, ({ db }, args) => {
    const { trim: trimming } = readOptions(args, false);
    const stream = db.change(at(args, 0), Stream);
    return stream === undefined || trimming === undefined ? 0 : trim(stream, trimming);
  }),
};
