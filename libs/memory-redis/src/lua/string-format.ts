import type { Arguments } from './arguments';
import { formatFixed, formatGeneral, formatScientific } from './numbers';
import { raise } from './position';
import { inPieces } from './text-parts';

const DIRECTIVE = /%(?:%|(?<flags>[-+ #0]*)(?<width>\d*)(?:(?<point>\.)(?<precision>\d*))?(?<letter>[\s\S]?))/g;

/** Implements string.format() of Lua 5.1. @param args the format, then the values */
export function formatText(args: Arguments): string {
  let number = 1;
  return args.text(1).replace(DIRECTIVE, (directive, ...groups) => {
    if (directive === '%%') return '%';
    const spec = groups.at(-1) as Record<string, string | undefined>;
    const { flags = '', width = '', point, precision = '', letter = '' } = spec;
    if (flags.length > 5) throw raise('invalid format (repeated flags)');
    if (width.length > 2 || precision.length > 2) throw raise('invalid format (width or precision too long)');
    if (++number > args.values.length) throw args.invalid(number, 'no value');
    const digits = point === undefined ? undefined : Number(precision);
    const text = padded(converted(letter, args, number, flags, digits), letter, flags, Number(width), digits);
    // In C, a zero byte ends the result.
    return letter === 'c' ? (text.split('\0', 1)[0] ?? '') : text;
  });
}

function converted(
  letter: string,
  args: Arguments,
  number: number,
  flags: string,
  precision: number | undefined,
): string {
  switch (letter) {
    case 'c':
      return charOf(args.number(number));
    case 'd':
    case 'i':
      return signed(withDigits(String(integerOf(args.number(number))), precision), flags);
    case 'u':
      return withDigits(String(unsigned(args.number(number))), precision);
    case 'o': {
      const text = withDigits(unsigned(args.number(number)).toString(8), precision);
      return flags.includes('#') && !text.startsWith('0') ? `0${text}` : text;
    }
    case 'x':
    case 'X': {
      const text = withDigits(unsigned(args.number(number)).toString(16), precision);
      const prefixed = flags.includes('#') && text !== '0' ? `0x${text}` : text;
      return letter === 'X' ? prefixed.toUpperCase() : prefixed;
    }
    case 'e':
    case 'E':
    case 'f':
    case 'g':
    case 'G': {
      const text = signed(floating(letter.toLowerCase(), args.number(number), flags, precision ?? 6), flags);
      return letter === 'E' || letter === 'G' ? text.toUpperCase() : text;
    }
    case 'q':
      return quoted(args.text(number));
    case 's': {
      const text = args.text(number);
      // C formats only the text before the first zero byte. A long text is not formatted at all, so Lua returns all of it.
      if (precision === undefined && text.length >= 100) return text;
      return (text.split('\0', 1)[0] ?? '').slice(0, precision);
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
  if (!flags.includes('0') || 'cs'.includes(letter) || (isInteger && precision !== undefined))
    return text.padStart(width);
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

/**
 * Converts a number to a character as C does on x86: by way of a 32-bit integer. A number that is out of range becomes the lowest integer.
 */
function charOf(number: number): string {
  const isInRange = number > -(2 ** 31) - 1 && number < 2 ** 31;
  return String.fromCharCode(isInRange ? number & 255 : 0);
}

/** Converts a number to an unsigned 64-bit integer as C does on x86. A number that is too large becomes 0. */
function unsigned(value: number): bigint {
  if (value >= 2 ** 63) return value < 2 ** 64 ? BigInt(value) : 0n;
  return BigInt.asUintN(64, integerOf(value));
}

/** Converts a number to a 64-bit integer as C does on x86. A number that is out of range becomes the lowest integer. */
function integerOf(number: number): bigint {
  if (!(Math.abs(number) < 2 ** 63)) return -(2n ** 63n);
  return BigInt(Math.trunc(number));
}

function quoted(text: string): string {
  const escape = (char: string): string => {
    if (char === '\r') return '\\r';
    return char === '\0' ? '\\000' : `\\${char}`;
  };
  return `"${inPieces(text, (piece) => piece.replace(/["\\\n\r\0]/g, escape))}"`;
}
