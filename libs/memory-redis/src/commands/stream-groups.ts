import { integer, replyInteger } from '../numbers';
import { OK, Pairs, refuse, unsupported, type Reply } from '../reply';
import { ConsumerGroup } from '../streams/consumer-group';
import { Stream } from '../streams/stream';
import { idText, LOWEST_ID, parseId, parseIdOrEnd } from '../streams/stream-id';
import { at, isWord, reads, writes, type Command, type CommandTable, type Context } from './command';
import { entryReply } from './streams';

const NO_STREAM =
  'ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically.';

/** Returns the entries of a map, sorted by the bytes of their names. */
function byName<Value>(map: ReadonlyMap<string, Value>): [string, Value][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}

export function noGroup(key: string, group: string): never {
  refuse(`NOGROUP No such key '${key}' or consumer group '${group}'`);
}

function existing({ db }: Context, key: string): Stream {
  return db.change(key, Stream) ?? refuse(NO_STREAM);
}

function existingGroup(context: Context, key: string, name: string): ConsumerGroup {
  const stream = existing(context, key);
  return stream.groups.get(name) ?? refuse(`NOGROUP No such consumer group '${name}' for key name '${key}'`);
}

interface GroupOptions {
  makesStream: boolean;
  entriesRead: bigint | undefined;
}

function wrongOptions(name: string, subcommand: string): never {
  refuse(`ERR unknown subcommand or wrong number of arguments for '${subcommand}'. Try ${name} HELP.`);
}

function readOptions(subcommand: 'CREATE' | 'SETID', args: readonly string[]): GroupOptions {
  const options: GroupOptions = { makesStream: false, entriesRead: undefined };
  for (let index = 3; index < args.length; index++) {
    if (subcommand === 'CREATE' && isWord(args[index], 'MKSTREAM')) options.makesStream = true;
    else if (isWord(args[index], 'ENTRIESREAD') && index + 1 < args.length) {
      const value = integer(at(args, ++index));
      if (value < -1) refuse('ERR value for ENTRIESREAD must be positive or -1');
      options.entriesRead = value === -1 ? undefined : BigInt(value);
    } else {
      wrongOptions('XGROUP', subcommand);
    }
  }
  return options;
}

function create(context: Context, args: readonly string[]): Reply {
  const [key, name, text] = [at(args, 0), at(args, 1), at(args, 2)];
  const { makesStream, entriesRead } = readOptions('CREATE', args);
  const known = makesStream ? context.db.change(key, Stream) : existing(context, key);
  if (args.length > 6) wrongOptions('XGROUP', 'CREATE');
  const id = text === '$' ? (known?.lastId ?? LOWEST_ID) : parseId(text);
  const stream = known ?? context.db.add(key, new Stream());
  if (stream.groups.has(name)) refuse('BUSYGROUP Consumer Group name already exists');
  stream.groups.set(name, new ConsumerGroup(id, entriesRead));
  return OK;
}

function setId(context: Context, args: readonly string[]): Reply {
  const [key, name, text] = [at(args, 0), at(args, 1), at(args, 2)];
  const { entriesRead } = readOptions('SETID', args);
  const group = existingGroup(context, key, name);
  if (args.length > 5) wrongOptions('XGROUP', 'SETID');
  group.lastId = text === '$' ? existing(context, key).lastId : parseIdOrEnd(text);
  group.entriesRead = entriesRead;
  return OK;
}

const info = (run: (stream: Stream, context: Context, args: readonly string[]) => Reply): Command['run'] => {
  return (context, args) => run(context.db.read(at(args, 0), Stream) ?? refuse('ERR no such key'), context, args);
};

function optionalInteger(value: bigint | undefined): Reply {
  return value === undefined ? null : replyInteger(value);
}

const describeStream = info((stream, _context, args) => {
  if (args.length > 1 && !isWord(args[1], 'FULL')) wrongOptions('XINFO', 'STREAM');
  if (args.length > 1) throw unsupported('XINFO STREAM FULL');
  const [first, last] = [stream.entries[0], stream.entries.at(-1)];
  return new Pairs([
    ['length', stream.size],
    ['radix-tree-keys', Math.ceil(stream.size / 100)],
    ['radix-tree-nodes', Math.ceil(stream.size / 100) + 1],
    ['last-generated-id', idText(stream.lastId)],
    ['max-deleted-entry-id', idText(stream.maxDeletedId)],
    ['entries-added', replyInteger(stream.entriesAdded)],
    ['recorded-first-entry-id', idText(stream.firstId)],
    ['groups', stream.groups.size],
    ['first-entry', first === undefined ? null : entryReply(first)],
    ['last-entry', last === undefined ? null : entryReply(last)],
  ]);
});

const describeGroups = info((stream) =>
  byName(stream.groups).map(([name, group]) => {
    return new Pairs([
      ['name', name],
      ['consumers', group.consumers.size],
      ['pending', group.pendingEntries.length],
      ['last-delivered-id', idText(group.lastId)],
      ['entries-read', optionalInteger(group.entriesRead)],
      ['lag', optionalInteger(stream.lagOf(group))],
    ]);
  }),
);

const describeConsumers = info((stream, { db }, args) => {
  const [key, name] = [at(args, 0), at(args, 1)];
  const group = stream.groups.get(name) ?? refuse(`NOGROUP No such consumer group '${name}' for key name '${key}'`);
  return byName(group.consumers).map(([consumerName, consumer]) => {
    return new Pairs([
      ['name', consumerName],
      ['pending', group.pendingOf(consumer).length],
      ['idle', Math.max(0, db.nowMs - consumer.seenAtMs)],
    ]);
  });
});

export const streamGroupCommands: CommandTable = {
  xgroup: {
    subcommands: {
      create: writes(-5, create),
      createconsumer: writes(5, (context, args) => {
        const group = existingGroup(context, at(args, 0), at(args, 1));
        if (group.consumers.has(at(args, 2))) return 0;
        group.consumer(at(args, 2), context.db.nowMs);
        return 1;
      }),
      delconsumer: writes(5, (context, args) =>
        existingGroup(context, at(args, 0), at(args, 1)).removeConsumer(at(args, 2)),
      ),
      destroy: writes(4, (context, args) => (existing(context, at(args, 0)).groups.delete(at(args, 1)) ? 1 : 0)),
      setid: writes(-5, setId),
    },
  },
  xinfo: {
    subcommands: {
      consumers: reads(4, describeConsumers),
      groups: reads(3, describeGroups),
      stream: reads(-3, describeStream),
    },
  },
};
