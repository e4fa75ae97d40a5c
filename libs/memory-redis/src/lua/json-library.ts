import { library } from './arguments';
import { decodeJson } from './json-decoder';
import { formatGeneral } from './numbers';
import { raise } from './position';
import { LuaTable } from './table';
import { inPieces } from './text-parts';
import { NULL_POINTER, typeOf, type LuaValue } from './values';

const DEEPEST = 1000;
/** Functions that change settings of cjson, which MemoryRedis does not support. */
const SETTINGS =
  'decode_invalid_numbers decode_max_depth encode_invalid_numbers encode_keep_buffer encode_max_depth encode_number_precision ' +
  'encode_sparse_array new';

/**
 * Returns Redis' library cjson with its default settings: an array with too many holes is an error, and an empty table becomes an object.
 */
export function createJsonLibrary(): LuaTable {
  const settings = SETTINGS.split(' ').map((name) => {
    const refuse = (): never => {
      throw raise(
        `MemoryRedis does not support cjson.${name}. Test this code with a server of luanest/testing/servers`,
      );
    };
    return [name, refuse] as const;
  });
  return library(
    {
      ...Object.fromEntries(settings),
      decode: (args) => {
        if (args.values.length !== 1) throw args.invalid(1, 'expected 1 argument');
        return decodeJson(args.text(1), NULL_POINTER);
      },
      encode: (args) => {
        if (args.values.length !== 1) throw args.invalid(1, 'expected 1 argument');
        return encode(args.values[0], 0);
      },
    },
    { null: NULL_POINTER, _NAME: 'cjson', _VERSION: '2.1.0' },
  );
}

function encode(value: LuaValue, depth: number): string {
  if (value === undefined || value === NULL_POINTER) return 'null';
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return encodeText(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw raise('Cannot serialise number: must not be NaN or Inf');
    return formatGeneral(value, 14, false);
  }
  if (!(value instanceof LuaTable)) throw raise(`Cannot serialise ${typeOf(value)}: type not supported`);
  if (depth >= DEEPEST) throw raise(`Cannot serialise, excessive nesting (${depth + 1})`);
  const length = arrayLength(value);
  if (length > 0) {
    const items = Array.from({ length }, (_, index) => encode(value.get(index + 1), depth + 1));
    return `[${items.join(',')}]`;
  }
  const members: string[] = [];
  for (let entry = value.next(undefined); entry !== undefined; entry = value.next(entry[0])) {
    const [key, member] = entry;
    if (typeof key !== 'string' && typeof key !== 'number') {
      throw raise(`Cannot serialise ${typeOf(key)}: table key must be a number or string`);
    }
    const name = typeof key === 'string' ? encodeText(key) : `"${formatGeneral(key, 14, false)}"`;
    members.push(`${name}:${encode(member, depth + 1)}`);
  }
  return `{${members.join(',')}}`;
}

/**
 * Returns the length of the JSON array that a table becomes: its highest key. Returns 0 for a table that becomes a JSON object: an empty
 * one, or one with a key that is not a positive integer.
 */
function arrayLength(table: LuaTable): number {
  let [most, count] = [0, 0];
  for (let entry = table.next(undefined); entry !== undefined; entry = table.next(entry[0])) {
    const [key] = entry;
    if (typeof key !== 'number' || key < 1 || !Number.isInteger(key)) return 0;
    // cjson keeps the highest key in 32 bits. A larger key overflows to the lowest 32-bit integer.
    if (key > most) most = key < 2 ** 31 ? key : -(2 ** 31);
    count++;
  }
  if (most > 10 && most > count * 2) throw raise('Cannot serialise table: excessively sparse array');
  return most;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '/': '\\/',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\f': '\\f',
  '\r': '\\r',
};

function encodeText(text: string): string {
  const escape = (char: string): string => ESCAPES[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  // eslint-disable-next-line no-control-regex -- control characters are what is escaped
  return `"${inPieces(text, (piece) => piece.replace(/["\\/\0-\x1f\x7f]/g, escape))}"`;
}
