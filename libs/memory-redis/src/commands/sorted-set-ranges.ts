import { parseNumber } from '../lua/numbers';
import { integer } from '../numbers';
import { Double, refuse, Rows, SYNTAX_ERROR, type Reply } from '../reply';
import { SortedSet, type Scored } from '../sorted-set';
import { at, isWord, type Context } from './command';

/** Function that returns a range of indexes of a sorted set: from (inclusive) and to (exclusive). */
export type RangeOf = (set: SortedSet, isReverse?: boolean) => readonly [from: number, to: number];

interface Bound {
  readonly value: number;
  readonly isExclusive: boolean;
}

function scoreBound(text: string): Bound {
  const isExclusive = text.startsWith('(');
  const number = isExclusive ? text.slice(1) : text;
  const value = number === '' ? 0 : /\s$/.test(number) ? undefined : parseNumber(number);
  if (value === undefined || Number.isNaN(value)) refuse('ERR min or max is not a float');
  return { value, isExclusive };
}

/** Returns a function that selects the members with scores between two bounds, such as `(1` and `+inf`. @throws RedisError */
export function byScore(min: string, max: string): RangeOf {
  const [low, high] = [scoreBound(min), scoreBound(max)];
  return (set) => [
    set.findIndex(({ score }) => (low.isExclusive ? score > low.value : score >= low.value)),
    set.findIndex(({ score }) => (high.isExclusive ? score >= high.value : score > high.value)),
  ];
}

/** Parses `[a`, `(a`, `-` or `+`. The result is true for members from a lower bound (`isStart`) on, or after an upper bound. */
function textBound(text: string, isStart: boolean): (member: string) => boolean {
  if (text === '-') return () => true;
  if (text === '+') return () => false;
  const rest = text.slice(1);
  if (text.startsWith('[')) return isStart ? (member) => member >= rest : (member) => member > rest;
  if (text.startsWith('(')) return isStart ? (member) => member > rest : (member) => member >= rest;
  refuse('ERR min or max not valid string range item');
}

/**
 * Returns a function that selects the members between two bounds, such as `[a` and `+`. All members should have the same score. Redis
 * does not define the result for different scores. It is then as in Redis for a small set.
 *
 * @throws RedisError
 */
export function byText(min: string, max: string): RangeOf {
  const [isFrom, isAfter] = [textBound(min, true), textBound(max, false)];
  return ({ all }, isReverse = false) => {
    const [first, last] = [all[0], all.at(-1)];
    if (first === undefined || last === undefined || !isFrom(last.member) || isAfter(first.member)) return [0, 0];
    if (isReverse) {
      const to = all.findLastIndex(({ member }) => !isAfter(member)) + 1;
      const before = all.slice(0, to).findLastIndex(({ member }) => !isFrom(member));
      return [before + 1, to];
    }
    const from = all.findIndex(({ member }) => isFrom(member));
    const count = all.slice(from).findIndex(({ member }) => isAfter(member));
    return [from, count < 0 ? all.length : from + count];
  };
}

export function byRank(start: number, stop: number): RangeOf {
  return ({ size }) => {
    const from = Math.max(0, start < 0 ? size + start : start);
    const to = Math.min(stop < 0 ? size + stop : stop, size - 1) + 1;
    return [from, to];
  };
}

interface RangeOptions {
  by: 'rank' | 'score' | 'text' | undefined;
  reverse: boolean | undefined;
  limit: readonly [offset: number, count: number] | undefined;
  withScores: boolean;
}

function readOptions(args: readonly string[], options: RangeOptions): void {
  for (let index = 0; index < args.length; index++) {
    const arg = args[index];
    if (isWord(arg, 'WITHSCORES')) options.withScores = true;
    else if (isWord(arg, 'LIMIT') && index + 2 < args.length) {
      options.limit = [integer(at(args, index + 1)), integer(at(args, index + 2))];
      index += 2;
    } else if (isWord(arg, 'REV') && options.reverse === undefined) options.reverse = true;
    else if (isWord(arg, 'BYSCORE') && options.by === undefined) options.by = 'score';
    else if (isWord(arg, 'BYLEX') && options.by === undefined) options.by = 'text';
    else refuse(SYNTAX_ERROR);
  }
}

/**
 * Returns the reply of ZRANGE and similar commands.
 *
 * @param by kind of the range; undefined if the options BYSCORE and BYLEX decide
 * @param reverse true for the reverse order; undefined if the option REV decides
 */
export function range({ db }: Context, args: readonly string[], by?: RangeOptions['by'], reverse?: boolean): Reply {
  const options: RangeOptions = { by, reverse, limit: undefined, withScores: false };
  readOptions(args.slice(3), options);
  const kind = options.by ?? 'rank';
  const isReverse = options.reverse === true;
  if (options.limit !== undefined && options.limit[1] !== -1 && kind === 'rank') {
    refuse('ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX');
  }
  if (options.withScores && kind === 'text') {
    refuse('ERR syntax error, WITHSCORES not supported in combination with BYLEX');
  }
  const [first, second] = [at(args, 1), at(args, 2)];
  const [min, max] = isReverse && kind !== 'rank' ? [second, first] : [first, second];
  const select = kind === 'rank' ? byRank(integer(min), integer(max)) : (kind === 'score' ? byScore : byText)(min, max);
  const set = db.read(at(args, 0), SortedSet) ?? SortedSet.empty();
  return rows(chosen(set, select, isReverse, kind === 'rank', options.limit), options.withScores);
}

function chosen(
  set: SortedSet,
  select: RangeOf,
  isReverse: boolean,
  isRank: boolean,
  limit: RangeOptions['limit'],
): readonly Scored[] {
  const [from, to] = select(set, isReverse);
  // In reverse order, rank 0 is the last member.
  const part = isReverse && isRank ? set.all.toReversed().slice(from, to) : set.all.slice(from, to);
  const ordered = isReverse && !isRank ? part.reverse() : part;
  if (limit === undefined || isRank) return ordered;
  const [offset, count] = limit;
  if (offset < 0) return [];
  return count < 0 ? ordered.slice(offset) : ordered.slice(offset, offset + count);
}

/** Returns members as a reply, with their scores if wanted. RESP3 sends pairs of member and score, RESP2 one flat array. */
export function rows(scored: readonly Scored[], withScores: boolean): Reply {
  if (!withScores) return scored.map(({ member }) => member);
  return new Rows(scored.map(({ member, score }) => [member, new Double(score)]));
}
