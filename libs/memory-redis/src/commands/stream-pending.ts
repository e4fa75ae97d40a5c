import { bigInteger, integer, replyInteger } from '../numbers';
import { NULL_ARRAY, refuse, shownText, SYNTAX_ERROR, type Reply } from '../reply';
import type { Consumer, ConsumerGroup, PendingEntry } from '../streams/consumer-group';
import { Stream } from '../streams/stream';
import { idText, LOWEST_ID, parseBound, parseId, tryParseId, type StreamId } from '../streams/stream-id';
import { at, isWord, reads, writes, type CommandTable, type Context } from './command';
import { noGroup } from './stream-groups';
import { entryReply } from './streams';

function acknowledge({ db }: Context, [key = '', name = '', ...ids]: readonly string[]): Reply {
  const group = db.change(key, Stream)?.groups.get(name);
  if (group === undefined) return 0;
  return ids.map((id) => parseId(id)).filter((id) => group.removePending(id)).length;
}

function pending({ db }: Context, args: readonly string[]): Reply {
  const [key, name] = [at(args, 0), at(args, 1)];
  if (args.length !== 2 && (args.length < 5 || args.length > 8)) refuse(SYNTAX_ERROR);
  const hasIdle = isWord(args[2], 'IDLE');
  const minIdle = hasIdle ? integer(at(args, 3)) : 0;
  if (hasIdle && args.length < 7) refuse(SYNTAX_ERROR);
  const [start, stop, count, consumerName] = args.slice(hasIdle ? 4 : 2);
  const most = count === undefined ? 0 : Math.max(0, integer(count));
  const [from, to] = [parseBound(start ?? '-', true), parseBound(stop ?? '+', false)];
  const group = db.read(key, Stream)?.groups.get(name) ?? noGroup(key, name);
  if (count === undefined) return summary(group);
  const consumer = consumerName === undefined ? undefined : group.consumers.get(consumerName);
  if (consumerName !== undefined && consumer === undefined) return [];
  const now = db.nowMs;
  return group
    .pendingRange(from, to)
    .filter((entry) => consumer === undefined || entry.consumer === consumer)
    .filter(({ deliveredAtMs }) => minIdle === 0 || now - deliveredAtMs >= minIdle)
    .slice(0, most)
    .map(({ id, consumer: owner, deliveredAtMs, deliveries }) => {
      return [idText(id), owner.name, Math.max(0, now - deliveredAtMs), replyInteger(deliveries)];
    });
}

function summary(group: ConsumerGroup): Reply {
  const { pendingEntries } = group;
  const [first, last] = [pendingEntries[0], pendingEntries.at(-1)];
  if (first === undefined || last === undefined) return [0, null, null, NULL_ARRAY];
  const counts = [...group.consumers.values()]
    .map((consumer) => [consumer.name, group.pendingOf(consumer).length] as const)
    .filter(([, size]) => size > 0)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return [pendingEntries.length, idText(first.id), idText(last.id), counts.map(([name, size]) => [name, String(size)])];
}

interface ClaimOptions {
  readonly ids: readonly StreamId[];
  deliveredAtMs: number | undefined;
  deliveries: bigint | undefined;
  lastId: StreamId;
  force: boolean;
  justId: boolean;
}

function readClaim(args: readonly string[], nowMs: number): ClaimOptions {
  const rest = args.slice(4);
  const parsed = rest.map((text) => tryParseId(text));
  const count = parsed.indexOf(undefined);
  const ids = (count < 0 ? parsed : parsed.slice(0, count)) as StreamId[];
  const options: ClaimOptions = {
    ids,
    deliveredAtMs: undefined,
    deliveries: undefined,
    lastId: LOWEST_ID,
    force: false,
    justId: false,
  };
  for (let index = ids.length; index < rest.length; index++) {
    const word = at(rest, index).toUpperCase();
    const value = rest[index + 1];
    if (word === 'FORCE') options.force = true;
    else if (word === 'JUSTID') options.justId = true;
    else {
      if (value === undefined) refuse(`ERR Unrecognized XCLAIM option '${shownText(at(rest, index))}'`);
      const invalid = `ERR Invalid ${word} option argument for XCLAIM`;
      if (word === 'IDLE') options.deliveredAtMs = nowMs - integer(value, invalid);
      else if (word === 'TIME') options.deliveredAtMs = integer(value, invalid);
      else if (word === 'RETRYCOUNT') options.deliveries = bigInteger(value, invalid);
      else if (word === 'LASTID') options.lastId = parseId(value);
      else refuse(`ERR Unrecognized XCLAIM option '${shownText(at(rest, index))}'`);
      index++;
    }
  }
  return options;
}

function claim({ db }: Context, args: readonly string[]): Reply {
  const [key, name] = [at(args, 0), at(args, 1)];
  const stream = db.change(key, Stream);
  const group = stream?.groups.get(name);
  if (stream === undefined || group === undefined) return noGroup(key, name);
  const minIdle = Math.max(0, integer(at(args, 3), 'ERR Invalid min-idle-time argument for XCLAIM'));
  const now = db.nowMs;
  const options = readClaim(args, now);
  if (options.lastId > group.lastId) group.lastId = options.lastId;
  const given = options.deliveredAtMs ?? now;
  const deliveredAtMs = given < 0 || given > now ? now : given;
  const replies: Reply[] = [];
  for (const id of options.ids) {
    const held = group.findPending(id);
    const entry = stream.find(id);
    if (entry === undefined) {
      group.removePending(id);
      continue;
    }
    if (held === undefined && !options.force) continue;
    if (held !== undefined && minIdle > 0 && now - held.deliveredAtMs < minIdle) continue;
    const before = held?.deliveries ?? 1n;
    const isSet = options.deliveries !== undefined && options.deliveries >= 0n;
    const deliveries = isSet ? (options.deliveries as bigint) : before + (options.justId ? 0n : 1n);
    group.setPending({ id, consumer: seen(group, at(args, 2), now), deliveredAtMs, deliveries });
    replies.push(options.justId ? idText(id) : entryReply(entry));
  }
  return replies;
}

/** Returns a consumer, and sets the time at which it was last seen. Creates the consumer if it does not exist. */
export function seen(group: ConsumerGroup, name: string, nowMs: number): Consumer {
  const consumer = group.consumer(name, nowMs);
  consumer.seenAtMs = nowMs;
  return consumer;
}

function autoClaim({ db }: Context, args: readonly string[]): Reply {
  const [key, name] = [at(args, 0), at(args, 1)];
  const minIdle = Math.max(0, integer(at(args, 3), 'ERR Invalid min-idle-time argument for XAUTOCLAIM'));
  const from = parseBound(at(args, 4), true);
  let [count, justId] = [100, false];
  for (let index = 5; index < args.length; index++) {
    if (isWord(args[index], 'COUNT') && index + 1 < args.length) {
      count = integer(at(args, ++index), 'ERR COUNT must be > 0');
      if (count < 1) refuse('ERR COUNT must be > 0');
    } else if (isWord(args[index], 'JUSTID')) justId = true;
    else refuse(SYNTAX_ERROR);
  }
  const stream = db.change(key, Stream);
  const group = stream?.groups.get(name);
  if (stream === undefined || group === undefined) return noGroup(key, name);
  return claimIdle({ stream, group, consumer: at(args, 2) }, from, minIdle, count, justId, db.nowMs);
}

interface Claimant {
  readonly stream: Stream;
  readonly group: ConsumerGroup;
  /** Name of the consumer. The consumer is created when it claims its first entry. */
  readonly consumer: string;
}

function claimIdle(
  { stream, group, consumer }: Claimant,
  from: StreamId,
  minIdle: number,
  most: number,
  justId: boolean,
  now: number,
): Reply {
  const candidates: readonly PendingEntry[] = group.pendingEntries.filter(({ id }) => id >= from);
  const [claimed, deleted]: [Reply[], Reply[]] = [[], []];
  let index = 0;
  // Redis checks at most ten times as many entries as it may return.
  for (; index < candidates.length && index < 10 * most && claimed.length + deleted.length < most; index++) {
    const { id, deliveredAtMs, deliveries } = candidates[index] as PendingEntry;
    const entry = stream.find(id);
    if (entry === undefined) {
      group.removePending(id);
      deleted.push(idText(id));
    } else if (minIdle === 0 || now - deliveredAtMs >= minIdle) {
      group.setPending({
        id,
        consumer: seen(group, consumer, now),
        deliveredAtMs: now,
        deliveries: deliveries + (justId ? 0n : 1n),
      });
      claimed.push(justId ? idText(id) : entryReply(entry));
    }
  }
  return [idText(candidates[index]?.id ?? LOWEST_ID), claimed, deleted];
}

export const streamPendingCommands: CommandTable = {
  xack: writes(-4, acknowledge),
  xautoclaim: writes(-6, autoClaim),
  xclaim: writes(-6, claim),
  xpending: reads(-3, pending),
};
