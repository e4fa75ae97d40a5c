import { integer } from './numbers';
import { refuse, SYNTAX_ERROR } from './reply';

/** Matches a valid cursor. As in C, empty text is 0, and a negative number wraps around to a very large one. */
const CURSOR = /^(?:[-+]?\d+)?$/;

/**
 * Returns one page for SCAN, HSCAN and similar commands. Elements are sorted by a hash of their names, and the cursor is the hash at which
 * the next page begins. So an element that exists during the whole scan is always returned, whatever is added or removed meanwhile. It is
 * returned only once, unless `isSmall` becomes true between two calls.
 *
 * @param args the cursor, then the options MATCH and COUNT
 * @param isSmall true if the collection is so small that Redis returns all elements at once
 */
export function scan<Element>(
  elements: readonly Element[],
  nameOf: (element: Element) => string,
  args: readonly string[],
  isSmall: boolean,
): { readonly cursor: string; readonly page: readonly Element[]; readonly matches: (name: string) => boolean } {
  const options = scanOptions(args);
  const hashed = elements.map((element) => ({ element, hash: hashOf(nameOf(element)) }));
  if (isSmall) return { cursor: '0', page: elements, matches: options.matches };
  const rest = hashed.filter(({ hash }) => hash >= options.cursor).sort((a, b) => a.hash - b.hash);
  let count = Math.min(options.count, rest.length);
  while (count < rest.length && rest[count]?.hash === rest[count - 1]?.hash) count++;
  const page = rest.slice(0, count).map(({ element }) => element);
  return { cursor: String(rest[count]?.hash ?? 0), page, matches: options.matches };
}

interface ScanOptions {
  readonly cursor: number;
  readonly count: number;
  readonly matches: (name: string) => boolean;
  readonly type: string | undefined;
}

/**
 * Parses the cursor of SCAN and similar commands. Redis checks the cursor before it looks for the key; it checks other arguments only if
 * the key exists.
 *
 * @throws RedisError if the cursor is not a number
 */
export function readCursor([cursor = '']: readonly string[]): number {
  if (!CURSOR.test(cursor)) refuse('ERR invalid cursor');
  return cursor.startsWith('-') ? Infinity : Number(cursor);
}

export function scanOptions(args: readonly string[], allowsType = false): ScanOptions {
  const cursor = readCursor(args);
  let count = 10;
  let type: string | undefined;
  let matches = (_name: string): boolean => true;
  for (let index = 1; index < args.length; index += 2) {
    const [option = '', value] = [args[index]?.toUpperCase(), args[index + 1]];
    if (value === undefined) refuse(SYNTAX_ERROR);
    if (option === 'COUNT') {
      count = integer(value);
      if (count < 1) refuse(SYNTAX_ERROR);
    } else if (option === 'MATCH') {
      const pattern = globPattern(value);
      matches = (name) => pattern.test(name);
    } else if (option === 'TYPE' && allowsType) {
      type = value.toLowerCase();
    } else {
      refuse(SYNTAX_ERROR);
    }
  }
  return { cursor, count, matches, type };
}

/** Converts a glob pattern of Redis (*, ?, [a-c], [^a], \x) to a regular expression. */
export function globPattern(pattern: string): RegExp {
  let source = '';
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern.charAt(at);
    if (char === '*') source += '[\\s\\S]*';
    else if (char === '?') source += '[\\s\\S]';
    else if (char === '\\' && at + 1 < pattern.length) source += escaped(pattern.charAt(++at));
    else if (char === '[') {
      const set = readSet(pattern, at + 1);
      source += set.source;
      at = set.end;
    } else source += escaped(char);
  }
  return new RegExp(`^(?:${source})$`);
}

function readSet(pattern: string, from: number): { source: string; end: number } {
  const negated = pattern[from] === '^';
  let at = negated ? from + 1 : from;
  let items = '';
  for (; at < pattern.length && pattern[at] !== ']'; at++) {
    if (pattern[at] === '\\' && at + 1 < pattern.length) {
      items += escaped(pattern.charAt(++at));
    } else if (pattern[at + 1] === '-' && at + 2 < pattern.length) {
      const [low = '', high = ''] = [pattern[at], pattern[at + 2]].sort();
      items += `${escaped(low)}-${escaped(high)}`;
      at += 2;
    } else {
      items += escaped(pattern.charAt(at));
    }
  }
  if (items === '') return { source: negated ? '[\\s\\S]' : '[]', end: at };
  return { source: `[${negated ? '^' : ''}${items}]`, end: at };
}

function escaped(char: string): string {
  return `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
}

/** Returns a hash from 1 to 2^32. It is never 0, because the cursor 0 means the end of the scan. */
function hashOf(name: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  return (hash >>> 0) + 1;
}
