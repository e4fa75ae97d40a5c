import { float, positive, integer } from '../numbers';
import { refuse, SYNTAX_ERROR, WRONG_TYPE, type Reply } from '../reply';
import { SortedSet } from '../sorted-set';
import { SetValue } from '../values';
import { at, isWord, reads, writes, type Command, type CommandTable, type Context } from './command';
import { rows } from './sorted-set-ranges';

type Scores = ReadonlyMap<string, number>;
type Operation = 'union' | 'inter' | 'diff';

const AGGREGATES: Readonly<Record<string, (a: number, b: number) => number>> = {
  // The sum of inf and -inf is 0 in Redis, but NaN in JavaScript.
  SUM: (a, b) => a + b || 0,
  MIN: Math.min,
  MAX: Math.max,
};

/** Reads the arguments `numkeys key [key ...]`. A plain set counts as a sorted set in which each score is 1. */
function readSets(
  { db }: Context,
  name: string,
  args: readonly string[],
): { sets: Scores[]; options: readonly string[] } {
  const count = integer(at(args, 0));
  if (count < 1) refuse(`ERR at least 1 input key is needed for '${name}' command`);
  if (count > args.length - 1) refuse(SYNTAX_ERROR);
  const sets = args.slice(1, 1 + count).map((key): Scores => {
    const value = db.get(key);
    if (value === undefined) return new Map();
    if (value instanceof SortedSet) return new Map(value.all.map(({ member, score }) => [member, score]));
    return value instanceof SetValue ? new Map([...value.members].map((member) => [member, 1])) : refuse(WRONG_TYPE);
  });
  return { sets, options: args.slice(1 + count) };
}

/** Reads the options WEIGHTS, AGGREGATE and WITHSCORES. */
function readOptions(options: readonly string[], sets: number, operation: Operation, isStored: boolean) {
  const found = { weights: Array.from({ length: sets }, () => 1), aggregate: AGGREGATES.SUM, withScores: false };
  for (let index = 0; index < options.length; index++) {
    const left = options.length - index - 1;
    if (operation !== 'diff' && left >= sets && isWord(options[index], 'WEIGHTS')) {
      found.weights = found.weights.map((_, set) =>
        float(at(options, index + 1 + set), 'ERR weight value is not a float'),
      );
      index += sets;
    } else if (operation !== 'diff' && left >= 1 && isWord(options[index], 'AGGREGATE')) {
      const name = at(options, ++index).toUpperCase();
      found.aggregate = Object.hasOwn(AGGREGATES, name) ? AGGREGATES[name] : refuse(SYNTAX_ERROR);
    } else if (!isStored && isWord(options[index], 'WITHSCORES')) found.withScores = true;
    else refuse(SYNTAX_ERROR);
  }
  return found;
}

function combined(operation: Operation, sets: readonly Scores[], aggregate: (a: number, b: number) => number): Scores {
  const [first = new Map<string, number>(), ...others] = sets;
  const result = new Map(first);
  for (const set of others) {
    for (const member of result.keys()) {
      if (operation === 'inter' ? !set.has(member) : operation === 'diff' && set.has(member)) result.delete(member);
    }
    if (operation === 'diff') continue;
    for (const [member, score] of set) {
      const other = result.get(member);
      if (other !== undefined) result.set(member, aggregate(other, score));
      else if (operation === 'union') result.set(member, score);
    }
  }
  return result;
}

function run(context: Context, operation: Operation, name: string, args: readonly string[], storeAt?: string): Reply {
  const { sets, options } = readSets(context, name, args);
  const {
    weights,
    aggregate = Math.max,
    withScores,
  } = readOptions(options, sets.length, operation, storeAt !== undefined);
  const weighted = sets.map((set, index) => {
    const weight = weights[index] ?? 1;
    return weight === 1 ? set : new Map([...set].map(([member, score]) => [member, score * weight || 0]));
  });
  // Redis adds the scores of the smallest set first. The order matters for the rounding of fractions.
  if (operation !== 'diff') weighted.sort((a, b) => a.size - b.size);
  const result = SortedSet.empty();
  for (const [member, score] of combined(operation, weighted, aggregate)) result.set(member, score);
  if (storeAt === undefined) return rows(result.all, withScores);
  if (result.size === 0) context.db.delete(storeAt);
  else context.db.add(storeAt, result);
  return result.size;
}

function replied(operation: Operation): Command {
  return reads(-3, (context, args) => run(context, operation, `z${operation}`, args));
}

function stored(operation: Operation): Command {
  return writes(-4, (context, [storeAt = '', ...args]) => run(context, operation, `z${operation}store`, args, storeAt));
}

export const sortedSetAlgebraCommands: CommandTable = {
  zdiff: replied('diff'),
  zdiffstore: stored('diff'),
  zinter: replied('inter'),
  zintercard: reads(-3, (context, args) => {
    const { sets, options } = readSets(context, 'zintercard', args);
    let limit = 0;
    for (let index = 0; index < options.length; index += 2) {
      if (!isWord(options[index], 'LIMIT') || index + 1 >= options.length) refuse(SYNTAX_ERROR);
      limit = positive(at(options, index + 1), "ERR LIMIT can't be negative");
    }
    const { size } = combined('inter', sets, Math.max);
    return limit === 0 ? size : Math.min(limit, size);
  }),
  zinterstore: stored('inter'),
  zunion: replied('union'),
  zunionstore: stored('union'),
};
