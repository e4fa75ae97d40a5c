import { float, integer } from '../numbers';
import { refuse, shownText, SYNTAX_ERROR, WRONG_TYPE, type Reply } from '../reply';
import { HashValue, ListValue, SetValue } from '../values';
import { SortedSet } from '../sorted-set';
import { at, reads, writes, type CommandTable, type Context } from './command';

interface SortOptions {
  /** Pattern of the keys that have the weights by which elements are sorted. Without a `*`, the elements are not sorted. */
  by?: string;
  isAlpha: boolean;
  isDescending: boolean;
  limit?: readonly [offset: number, count: number];
  readonly patterns: string[];
  storeAt?: string;
}

function sortOptions(args: readonly string[], mayStore: boolean): SortOptions {
  const options: SortOptions = { isAlpha: false, isDescending: false, patterns: [] };
  for (let index = 1; index < args.length; index++) {
    const word = at(args, index).toUpperCase();
    const left = args.length - index - 1;
    if (word === 'ASC' || word === 'DESC') options.isDescending = word === 'DESC';
    else if (word === 'ALPHA') options.isAlpha = true;
    else if (word === 'LIMIT' && left >= 2) {
      options.limit = [integer(at(args, index + 1)), integer(at(args, index + 2))];
      index += 2;
    } else if (word === 'STORE' && left >= 1 && mayStore) options.storeAt = at(args, ++index);
    else if (word === 'BY' && left >= 1) options.by = at(args, ++index);
    else if (word === 'GET' && left >= 1) options.patterns.push(at(args, ++index));
    else refuse(SYNTAX_ERROR);
  }
  return options;
}

/** Returns the value that a pattern of SORT, such as `weight_*` or `object_*->field`, means for an element; undefined if there is none. */
function lookUpPattern({ db }: Context, pattern: string, element: string): string | undefined {
  if (pattern === '#') return element;
  const star = pattern.indexOf('*');
  if (star < 0) return undefined;
  const arrow = pattern.indexOf('->', star + 1);
  const hasField = arrow >= 0 && arrow + 2 < pattern.length;
  const key = pattern.slice(0, star) + element + pattern.slice(star + 1, hasField ? arrow : undefined);
  const value = db.get(key);
  if (!hasField) return typeof value === 'string' ? value : undefined;
  return value instanceof HashValue ? value.fields.get(pattern.slice(arrow + 2)) : undefined;
}

function elementsOf({ db }: Context, key: string): { readonly elements: readonly string[]; readonly isSet: boolean } {
  const value = db.get(key);
  if (value === undefined) return { elements: [], isSet: false };
  if (value instanceof ListValue) return { elements: value.items, isSet: false };
  if (value instanceof SetValue) return { elements: [...value.members], isSet: true };
  if (value instanceof SortedSet) return { elements: value.all.map(({ member }) => member), isSet: false };
  refuse(WRONG_TYPE);
}

/** Parses a weight as C does: only the text before the first zero byte counts, and empty text is 0. */
function weightOf(text = ''): number {
  const shown = shownText(text);
  return shown === '' ? 0 : float(shown.trimStart(), "ERR One or more scores can't be converted into double");
}

function compareText(a: string | undefined, b: string | undefined): number {
  if (a === b) return 0;
  if (a === undefined || b === undefined) return a === undefined ? -1 : 1;
  return a < b ? -1 : 1;
}

type Order = Pick<SortOptions, 'by' | 'isAlpha' | 'isDescending' | 'storeAt'>;

function sorted(
  context: Context,
  elements: readonly string[],
  { by, isAlpha, isDescending, storeAt }: Order,
): string[] {
  const sign = isDescending ? -1 : 1;
  const weighted = elements.map((element) => {
    const text = by === undefined ? element : lookUpPattern(context, by, element);
    // Without STORE, SORT compares texts with a function of C, which stops at the first zero byte.
    const shown = text === undefined || storeAt !== undefined ? text : shownText(text);
    return { element, text: shown, weight: isAlpha ? 0 : weightOf(text) };
  });
  weighted.sort((a, b) => {
    if (isAlpha) return sign * compareText(a.text, b.text);
    return sign * (a.weight === b.weight ? compareText(a.element, b.element) : a.weight < b.weight ? -1 : 1);
  });
  return weighted.map(({ element }) => element);
}

function sort(context: Context, args: readonly string[], mayStore: boolean): Reply {
  const options = sortOptions(args, mayStore);
  const { elements, isSet } = elementsOf(context, at(args, 0));
  const { by, isDescending, limit, patterns, storeAt } = options;
  let ordered: readonly string[];
  if (by === undefined || by.includes('*')) ordered = sorted(context, elements, options);
  // A set is sorted, so that the result does not depend on its internal order. Redis does this only if it stores the result, or in scripts.
  else if (isSet) ordered = sorted(context, elements, { isAlpha: true, isDescending, storeAt });
  else ordered = isDescending ? elements.toReversed() : elements;
  if (limit !== undefined) {
    const from = Math.max(0, limit[0]);
    ordered = ordered.slice(from, limit[1] < 0 ? undefined : from + limit[1]);
  }
  const found =
    patterns.length === 0
      ? ordered
      : ordered.flatMap((one) => patterns.map((pattern) => lookUpPattern(context, pattern, one) ?? null));
  if (storeAt === undefined) return found;
  if (found.length === 0) context.db.delete(storeAt);
  else context.db.add(storeAt, new ListValue(found.map((one) => one ?? '')));
  return found.length;
}

export const sortingCommands: CommandTable = {
  sort: writes(-2, (context, args) => sort(context, args, true)),
  sort_ro: reads(-2, (context, args) => sort(context, args, false)),
};
