import { parseInteger } from '../numbers';
import { refuse, type Reply } from '../reply';
import { SortedSet } from '../sorted-set';
import { HashValue, ListValue, SetValue, type Value } from '../values';
import { at, reads, type CommandTable } from './command';

/** Redis stores a small hash or sorted set in one block of memory (listpack). Limits: elements, and bytes of each text in them. */
const MOST_IN_ONE_PIECE = 128;
const LONGEST_IN_ONE_PIECE = 64;
const MOST_INTEGERS = 512;
const LONGEST_EMBEDDED = 44;

const NO_LFU =
  'ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at ' +
  'runtime LRU and LFU data will take some time to adjust.';

function isSmall(size: number, texts: readonly string[]): boolean {
  return size <= MOST_IN_ONE_PIECE && texts.every((text) => text.length <= LONGEST_IN_ONE_PIECE);
}

/** Returns the encoding (OBJECT ENCODING) that Redis 7.0 chooses for a new key with this value. */
function encodingOf(value: Value): string {
  if (typeof value === 'string') {
    if (parseInteger(value) !== undefined) return 'int';
    return value.length <= LONGEST_EMBEDDED ? 'embstr' : 'raw';
  }
  if (value instanceof HashValue) return isSmall(value.size, [...value.fields].flat()) ? 'listpack' : 'hashtable';
  if (value instanceof ListValue) return 'quicklist';
  if (value instanceof SetValue) {
    const isIntegers = [...value.members].every((member) => parseInteger(member) !== undefined);
    return value.size <= MOST_INTEGERS && isIntegers ? 'intset' : 'hashtable';
  }
  if (value instanceof SortedSet) {
    const members = value.all.map(({ member }) => member);
    return isSmall(value.size, members) ? 'listpack' : 'skiplist';
  }
  return 'stream';
}

export const objectCommands: CommandTable = {
  object: {
    subcommands: {
      encoding: reads(3, ({ db }, args): Reply => {
        const value = db.get(at(args, 0));
        return value === undefined ? null : encodingOf(value);
      }),
      freq: reads(3, ({ db }, args): Reply => (db.get(at(args, 0)) === undefined ? null : refuse(NO_LFU))),
    },
  },
};
