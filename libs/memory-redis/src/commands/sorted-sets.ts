import { float, integer, positive, scoreText } from '../numbers';
import { Double, NULL_ARRAY, refuse, Rows, SYNTAX_ERROR, type Reply } from '../reply';
import { readCursor, scan } from '../scan';
import { SortedSet } from '../sorted-set';
import {
  at,
  firstOfKeys,
  isWord,
  randomOf,
  reads,
  writes,
  type Command,
  type CommandTable,
  type Context,
} from './command';
import { byRank, byScore, byText, range, type RangeOf } from './sorted-set-ranges';

const MOST_IN_ONE_PIECE = 128;
const LONGEST_IN_ONE_PIECE = 64;

function setOf({ db }: Context, key: string): SortedSet {
  return db.read(key, SortedSet) ?? SortedSet.empty();
}

interface AddOptions {
  readonly nx: boolean;
  readonly xx: boolean;
  readonly gt: boolean;
  readonly lt: boolean;
  readonly ch: boolean;
  readonly incr: boolean;
}

function addOptions(args: readonly string[]): readonly [AddOptions, readonly string[]] {
  const words = new Set<string>();
  let index = 1;
  for (; /^(?:NX|XX|GT|LT|CH|INCR)$/i.test(args[index] ?? ''); index++) words.add(at(args, index).toUpperCase());
  const [nx, xx, gt, lt] = [words.has('NX'), words.has('XX'), words.has('GT'), words.has('LT')];
  return [{ nx, xx, gt, lt, ch: words.has('CH'), incr: words.has('INCR') }, args.slice(index)];
}

function add(context: Context, args: readonly string[]): Reply {
  const [options, elements] = addOptions(args);
  const { nx, xx, gt, lt, ch, incr } = options;
  if (elements.length === 0 || elements.length % 2 !== 0) refuse(SYNTAX_ERROR);
  if (nx && xx) refuse('ERR XX and NX options at the same time are not compatible');
  if ((gt && nx) || (lt && nx) || (gt && lt)) {
    refuse('ERR GT, LT, and/or NX options at the same time are not compatible');
  }
  if (incr && elements.length > 2) refuse('ERR INCR option supports a single increment-element pair');
  const pairs: [score: number, member: string][] = [];
  for (let index = 0; index < elements.length; index += 2) {
    pairs.push([float(at(elements, index)), at(elements, index + 1)]);
  }
  return addAll(context, at(args, 0), pairs, options, ch);
}

function addAll(
  { db }: Context,
  key: string,
  pairs: readonly (readonly [score: number, member: string])[],
  { nx, xx, gt, lt, incr }: AddOptions,
  countsChanged: boolean,
): Reply {
  if (xx && db.read(key, SortedSet) === undefined) return incr ? null : 0;
  const set = db.sortedSet(key);
  let [count, result]: [number, number | undefined] = [0, undefined];
  for (const [given, member] of pairs) {
    const current = set.score(member);
    const score = incr && current !== undefined ? current + given : given;
    if (current !== undefined && nx) continue;
    if (current === undefined && xx) continue;
    if (Number.isNaN(score)) refuse('ERR resulting score is not a number (NaN)');
    if (current !== undefined && ((gt && score <= current) || (lt && score >= current))) continue;
    result = score;
    if (current === score) continue;
    if (current === undefined || countsChanged) count++;
    set.set(member, score);
  }
  db.removeIfEmpty(key);
  if (!incr) return count;
  return result === undefined ? null : new Double(result);
}

const NO_OPTIONS: AddOptions = { nx: false, xx: false, gt: false, lt: false, ch: false, incr: false };

function count(rangeOf: (min: string, max: string) => RangeOf): Command {
  return reads(4, (context, args) => {
    const select = rangeOf(at(args, 1), at(args, 2));
    const [from, to] = select(setOf(context, at(args, 0)));
    return Math.max(0, to - from);
  });
}

function removeRange(rangeOf: (min: string, max: string) => RangeOf): Command {
  return writes(4, ({ db }, args) => {
    const select = rangeOf(at(args, 1), at(args, 2));
    const set = db.change(at(args, 0), SortedSet);
    if (set === undefined) return 0;
    const removed = set.removeRange(...select(set));
    db.removeIfEmpty(at(args, 0));
    return removed;
  });
}

/**
 * Removes the members with the lowest scores, or with the highest scores if `isLast` is true.
 *
 * @returns each removed member with its score
 */
function popFrom(db: Context['db'], key: string, isLast: boolean, most: number): Reply[][] {
  const set = db.change(key, SortedSet) ?? SortedSet.empty();
  const popped = (isLast ? set.all.toReversed() : set.all).slice(0, most);
  for (const { member } of popped) set.delete(member);
  db.removeIfEmpty(key);
  return popped.map(({ member, score }) => [member, new Double(score)]);
}

function pop(isLast: boolean): Command {
  return writes(-2, ({ db }, args) => {
    if (args.length > 2) refuse(SYNTAX_ERROR);
    const most = args[1] === undefined ? 1 : positive(args[1]);
    const pairs = popFrom(db, at(args, 0), isLast, most);
    return args[1] === undefined ? pairs.flat() : new Rows(pairs);
  });
}

function rank(isReverse: boolean): Command {
  return reads(3, (context, args) => {
    const set = setOf(context, at(args, 0));
    const index = set.rank(at(args, 1));
    if (index === undefined) return null;
    return isReverse ? set.size - 1 - index : index;
  });
}

function scoreOf(set: SortedSet, member: string): Reply {
  const score = set.score(member);
  return score === undefined ? null : new Double(score);
}

export const sortedSetCommands: CommandTable = {
  zadd: writes(-4, add),
  zcard: reads(2, (context, args) => setOf(context, at(args, 0)).size),
  zcount: count(byScore),
  zincrby: writes(4, (context, args) => {
    const by = float(at(args, 1));
    return addAll(context, at(args, 0), [[by, at(args, 2)]], { ...NO_OPTIONS, incr: true }, false);
  }),
  zlexcount: count(byText),
  zmpop: writes(-4, ({ db }, args) => {
    const { keys, side, count } = firstOfKeys(args);
    const isLast = isWord(side, 'MAX');
    if (!isLast && !isWord(side, 'MIN')) refuse(SYNTAX_ERROR);
    const key = keys.find((one) => db.read(one, SortedSet) !== undefined);
    return key === undefined ? NULL_ARRAY : [key, popFrom(db, key, isLast, count)];
  }),
  zmscore: reads(-3, (context, [key = '', ...members]) => {
    const set = setOf(context, key);
    return members.map((member) => scoreOf(set, member));
  }),
  zpopmax: pop(true),
  zpopmin: pop(false),
  zrandmember: reads(-2, (context, args) => {
    const { key, count, withValues } = randomOf(args, 'WITHSCORES');
    const { random } = context.db;
    const { all } = setOf(context, key);
    if (count === undefined) return random.choose(all, 1)[0]?.member ?? null;
    const chosen = random.choose(all, count);
    if (!withValues) return chosen.map(({ member }) => member);
    return new Rows(chosen.map(({ member, score }) => [member, new Double(score)]));
  }),
  zrange: reads(-4, (context, args) => range(context, args)),
  zrangebylex: reads(-4, (context, args) => range(context, args, 'text', false)),
  zrangebyscore: reads(-4, (context, args) => range(context, args, 'score', false)),
  zrank: rank(false),
  zrem: writes(-3, ({ db }, [key = '', ...members]) => {
    const set = db.change(key, SortedSet);
    const removed = members.filter((member) => set?.delete(member)).length;
    db.removeIfEmpty(key);
    return removed;
  }),
  zremrangebylex: removeRange(byText),
  zremrangebyrank: removeRange((min, max) => byRank(integer(min), integer(max))),
  zremrangebyscore: removeRange(byScore),
  zrevrange: reads(-4, (context, args) => range(context, args, 'rank', true)),
  zrevrangebylex: reads(-4, (context, args) => range(context, args, 'text', true)),
  zrevrangebyscore: reads(-4, (context, args) => range(context, args, 'score', true)),
  zrevrank: rank(true),
  zscan: reads(-3, (context, [key = '', ...options]) => {
    readCursor(options);
    const { all } = setOf(context, key);
    if (all.length === 0) return ['0', []];
    const isSmall = all.length <= MOST_IN_ONE_PIECE && all.every(({ member }) => member.length <= LONGEST_IN_ONE_PIECE);
    const { cursor, page, matches } = scan(all, ({ member }) => member, options, isSmall);
    const found = page.filter(({ member }) => matches(member));
    return [cursor, found.flatMap(({ member, score }) => [member, scoreText(score)])];
  }),
  zscore: reads(3, (context, args) => scoreOf(setOf(context, at(args, 0)), at(args, 1))),
};
