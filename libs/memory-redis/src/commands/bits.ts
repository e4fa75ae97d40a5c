import { integer, positive } from '../numbers';
import { refuse, SYNTAX_ERROR, type Reply } from '../reply';
import { at, reads, writes, type CommandTable, type Context } from './command';

const OFFSET_ERROR = 'ERR bit offset is not an integer or out of range';
const MOST_BITS = 8 * 512 * 1024 * 1024;

function bitAt(text: string, index: number): number {
  return (text.charCodeAt(Math.floor(index / 8)) >> (7 - (index & 7))) & 1;
}

/**
 * Returns the first and the last index of a range, in bytes or, if `unit` is BIT, in bits. The range is empty if the last index is lower
 * than the first.
 */
function bitRange(text: string, from: number, to: number, unit: string | undefined): readonly [number, number] {
  const size = unit === 'BIT' ? 8 * text.length : text.length;
  const index = (value: number): number => Math.max(0, value < 0 ? size + value : value);
  const [first, last] = [index(from), Math.min(index(to), size - 1)];
  return unit === 'BIT' || first > last ? [first, last] : [8 * first, 8 * last + 7];
}

function unitOf(word: string | undefined): string | undefined {
  const unit = word?.toUpperCase();
  return unit === undefined || unit === 'BIT' || unit === 'BYTE' ? unit : refuse(SYNTAX_ERROR);
}

function count({ db }: Context, args: readonly string[]): Reply {
  const [key, from, to, unit] = args;
  const text = db.readString(key as string);
  if (text === undefined) return 0;
  if (args.length === 2 || args.length > 4) refuse(SYNTAX_ERROR);
  let [first, last] = [0, 8 * text.length - 1];
  if (from !== undefined && to !== undefined) {
    const [start, end] = [integer(from), integer(to)];
    if (start < 0 && end < 0 && start > end) return 0;
    [first, last] = bitRange(text, start, end, unitOf(unit));
  }
  let bits = 0;
  for (let index = first; index <= last; index++) bits += bitAt(text, index);
  return bits;
}

function position({ db }: Context, args: readonly string[]): Reply {
  const [key, wanted, from, to, unit] = args;
  const bit = integer(wanted as string);
  if (bit !== 0 && bit !== 1) refuse('ERR The bit argument must be 1 or 0.');
  const text = db.readString(key as string);
  if (text === undefined) return bit === 1 ? -1 : 0;
  if (args.length > 5) refuse(SYNTAX_ERROR);
  const start = from === undefined ? 0 : integer(from);
  const itsUnit = unitOf(unit);
  const end = to === undefined ? -1 : integer(to);
  const [first, last] = bitRange(text, start, end, itsUnit);
  for (let index = first; index <= last; index++) if (bitAt(text, index) === bit) return index;
  // Without an end, BITPOS treats the value as if zeros followed it. So in a value of ones only, the first 0 is just after the last bit.
  return bit === 0 && to === undefined && first <= last ? last + 1 : -1;
}

const OPERATIONS: Readonly<Record<string, (a: number, b: number) => number>> = {
  AND: (a, b) => a & b,
  OR: (a, b) => a | b,
  XOR: (a, b) => a ^ b,
  NOT: (a) => ~a & 0xff,
};

function combine({ db }: Context, [word = '', to = '', ...keys]: readonly string[]): Reply {
  const name = word.toUpperCase();
  const operation = Object.hasOwn(OPERATIONS, name) ? OPERATIONS[name] : undefined;
  if (operation === undefined) refuse(SYNTAX_ERROR);
  if (name === 'NOT' && keys.length !== 1) refuse('ERR BITOP NOT must be called with a single source key.');
  const texts = keys.map((key) => db.readString(key) ?? '');
  const size = Math.max(...texts.map((text) => text.length));
  const sources = texts.map((text) => Buffer.from(text.padEnd(size, '\0'), 'latin1'));
  const [result = Buffer.alloc(0), ...others] = sources;
  if (name === 'NOT') for (let index = 0; index < size; index++) result[index] = operation(result[index] as number, 0);
  for (const other of others) {
    for (let index = 0; index < size; index++)
      result[index] = operation(result[index] as number, other[index] as number);
  }
  if (size === 0) db.delete(to);
  else db.set(to, result.toString('latin1'));
  return size;
}

export const bitCommands: CommandTable = {
  bitcount: reads(-2, count),
  bitop: writes(-4, combine),
  bitpos: reads(-3, position),
  getbit: reads(3, ({ db }, args) => {
    const index = positive(at(args, 1), OFFSET_ERROR);
    return bitAt(db.readString(at(args, 0)) ?? '', index);
  }),
  setbit: writes(4, ({ db }, [key = '', offset = '', bit = '']) => {
    const index = positive(offset, OFFSET_ERROR);
    if (index >= MOST_BITS) refuse(OFFSET_ERROR);
    if (bit !== '0' && bit !== '1') refuse('ERR bit is not an integer or out of range');
    const place = Math.floor(index / 8);
    const bytes = Buffer.from((db.readString(key) ?? '').padEnd(place + 1, '\0'), 'latin1');
    const [byte, mask] = [bytes[place] ?? 0, 0x80 >> (index & 7)];
    bytes[place] = bit === '1' ? byte | mask : byte & ~mask;
    db.replace(key, bytes.toString('latin1'));
    return (byte & mask) === 0 ? 0 : 1;
  }),
};
