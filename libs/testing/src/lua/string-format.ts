import { formatFixed, formatGeneral, formatScientific } from './numbers';
import { textOf, toNumber } from './operators';
import { raise } from './position';
import { typeOf, type LuaValue } from './values';

const DIRECTIVE = /%(?:%|(?<flags>[-+ #0]*)(?<width>\d*)(?:(?<point>\.)(?<precision>\d*))?(?<letter>[\s\S]?))/g;

/** string.format() of Lua 5.1. */
export function formatText(format: string, values: readonly LuaValue[]): string {
  let index = 0;
  return format.replace(DIRECTIVE, (directive, ...groups) => {
    if (directive === '%%') return '%';
    const spec = groups.at(-1) as Record<string, string | undefined>;
    const { flags = '', width = '', point, precision = '', letter = '' } = spec;
    if (/(?<flag>.).*\k<flag>.*\k<flag>/.test(flags) || flags.length > 5) throw raise('invalid format (repeated flags)');
    if (width.length > 2 || precision.length > 2) throw raise('invalid format (width or precision too long)');
    const value = values[index++];
    const digits = point === undefined ? undefined : Number(precision);
    return padded(converted(letter, value, index, values.length, flags, digits), letter, flags, Number(width), digits);
  });
}

function converted(
  letter: string,
  value: LuaValue,
  index: number,
  given: number,
  flags: string,
  precision: number | undefined,
): string {
  switch (letter) {
    case 'c':
      return String.fromCharCode(numberAt(value, index, given) & 255);
    case 'd':
    case 'i':
      return signed(withDigits(String(integerOf(numberAt(value, index, given))), precision), flags);
    case 'u':
      return withDigits(String(BigInt.asUintN(64, integerOf(numberAt(value, index, given)))), precision);
    case 'o':
      return withDigits(unsigned(value, index, given).toString(8), precision);
    case 'x':
    case 'X': {
      const text = withDigits(unsigned(value, index, given).toString(16), precision);
      const prefixed = flags.includes('#') && text !== '0' ? `0x${text}` : text;
      return letter === 'X' ? prefixed.toUpperCase() : prefixed;
    }
    case 'e':
    case 'E':
    case 'f':
    case 'g':
    case 'G': {
      const text = signed(floating(letter.toLowerCase(), numberAt(value, index, given), flags, precision ?? 6), flags);
      return letter === 'E' || letter === 'G' ? text.toUpperCase() : text;
    }
    case 'q':
      return quoted(stringAt(value, index, given));
    case 's': {
      const text = stringAt(value, index, given);
      return precision === undefined ? text : text.slice(0, precision);
    }
    default:
      throw raise(`invalid option '%${letter}' to 'format'`);
  }
}

function floating(letter: string, number: number, flags: string, precision: number): string {
  if (letter === 'e') return formatScientific(number, precision);
  return letter === 'f' ? formatFixed(number, precision) : formatGeneral(number, precision, flags.includes('#'));
}

function padded(text: string, letter: string, flags: string, width: number, precision: number | undefined): string {
  if (text.length >= width || letter === 'q') return text;
  if (flags.includes('-')) return text.padEnd(width);
  const isInteger = 'diouxX'.includes(letter);
  if (!flags.includes('0') || 'cs'.includes(letter) || (isInteger && precision !== undefined)) return text.padStart(width);
  if (/inf|nan/i.test(text)) return text.padStart(width);
  const [lead = ''] = /^[-+ ]?(?:0[xX])?/.exec(text) ?? [];
  return lead + text.slice(lead.length).padStart(width - lead.length, '0');
}

function withDigits(text: string, precision: number | undefined): string {
  if (precision === undefined) return text;
  const sign = text.startsWith('-') ? '-' : '';
  const digits = text.slice(sign.length);
  return sign + (precision === 0 && digits === '0' ? '' : digits.padStart(precision, '0'));
}

function signed(text: string, flags: string): string {
  if (text.startsWith('-')) return text;
  if (flags.includes('+')) return `+${text}`;
  return flags.includes(' ') ? ` ${text}` : text;
}

function unsigned(value: LuaValue, index: number, given: number): bigint {
  return BigInt.asUintN(64, integerOf(numberAt(value, index, given)));
}

/** A number as C converts it to a 64-bit integer; one out of range becomes the smallest. */
function integerOf(number: number): bigint {
  if (!(Math.abs(number) < 2 ** 63)) return -(2n ** 63n);
  return BigInt(Math.trunc(number));
}

function quoted(text: string): string {
  const escaped = text.replace(/["\\\n\r\0]/g, (char) => {
    if (char === '\r') return '\\r';
    return char === '\0' ? '\\000' : `\\${char}`;
  });
  return `"${escaped}"`;
}

function numberAt(value: LuaValue, index: number, given: number): number {
  const number = toNumber(value);
  if (number === undefined) throw badArgument(value, index, given, 'number');
  return number;
}

function stringAt(value: LuaValue, index: number, given: number): string {
  const text = textOf(value);
  if (text === undefined) throw badArgument(value, index, given, 'string');
  return text;
}

function badArgument(value: LuaValue, index: number, given: number, expected: string): Error {
  const got = index > given ? 'no value' : typeOf(value);
  return raise(`bad argument #${index + 1} to 'format' (${expected} expected, got ${got})`);
}
