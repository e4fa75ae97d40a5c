const NUMERAL =
  /^[ \t\n\v\f\r]*(?<sign>[-+]?)(?:(?<hex>0[xX](?:[\dA-Fa-f]+\.?[\dA-Fa-f]*|\.[\dA-Fa-f]+)(?:[pP][-+]?\d+)?)|(?<decimal>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|(?<inf>inf(?:inity)?)|(?<nan>nan(?:\(\w*\))?))[ \t\n\v\f\r]*$/i;

/** Parses a number as strtod() of C does. Returns undefined if the text is not a number. */
export function parseNumber(text: string): number | undefined {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  // C reads only the text before the first zero byte.
  const groups = NUMERAL.exec(text.split('\0', 1)[0] ?? '')?.groups;
  if (groups === undefined) return undefined;
  const { sign, hex, decimal, inf } = groups;
  const size =
    decimal !== undefined ? Number(decimal) : hex !== undefined ? parseHex(hex) : inf ? Infinity : Number.NaN;
  return sign === '-' ? -size : size;
}

function parseHex(text: string): number {
  const [mantissa = '', exponent = '0'] = text.slice(2).toLowerCase().split('p');
  const [whole = '', part = ''] = mantissa.split('.');
  const digits = Number(`0x${whole}${part}` === '0x' ? 0 : `0x${whole}${part}`);
  return digits * 2 ** (Number(exponent) - 4 * part.length);
}

/** Formats a number as Lua does: with `%.14g`. */
export function formatNumber(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e14) return Object.is(value, -0) ? '-0' : String(value);
  return formatGeneral(value, 14, false);
}

/**
 * Formats a number as `%g` of C does.
 *
 * @param precision number of significant digits
 * @param keepZeros true for the flag `#`: zeros at the end stay
 */
export function formatGeneral(value: number, precision: number, keepZeros: boolean): string {
  if (!Number.isFinite(value)) return formatInfinite(value);
  const digits = Math.max(1, precision);
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const exponential = exactExponential(value, digits);
  const exponent = Number(exponential.slice(exponential.indexOf('e') + 1));
  if (exponent < -4 || exponent >= digits) {
    const [mantissa = ''] = exponential.split('e');
    return `${keepZeros ? mantissa : withoutZeros(mantissa)}${formatExponent(exponent)}`;
  }
  const fixed = formatFixed(value, digits - 1 - exponent);
  return keepZeros ? fixed : withoutZeros(fixed);
}

/** Formats a number as `%e` of C does. */
export function formatScientific(value: number, precision: number): string {
  if (!Number.isFinite(value)) return formatInfinite(value);
  const exponential = exactExponential(value, precision + 1);
  const at = exponential.indexOf('e');
  return `${Object.is(value, -0) ? '-' : ''}${exponential.slice(0, at)}${formatExponent(Number(exponential.slice(at + 1)))}`;
}

/** Formats a number as `%f` of C does. All digits are exact, also for numbers of 1e21 or more. */
export function formatFixed(value: number, precision: number): string {
  if (!Number.isFinite(value)) return formatInfinite(value);
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const size = Math.abs(value);
  if (size >= 1e21) return `${sign}${BigInt(size)}${precision > 0 ? `.${'0'.repeat(precision)}` : ''}`;
  return sign + roundedFixed(size, precision);
}

function roundedFixed(size: number, precision: number): string {
  if (precision <= 100) return halfToEven(size, precision);
  return size.toFixed(100) + '0'.repeat(precision - 100);
}

/** Rounds as C does: an exact half is rounded to the even digit. toFixed() rounds it up. */
function halfToEven(size: number, precision: number): string {
  const text = size.toFixed(precision);
  const exact = exactDecimal(size);
  const [, part = ''] = exact.split('.');
  const rest = part.slice(precision);
  if (!/^50*$/.test(rest)) return text;
  const kept = exact.slice(0, exact.length - rest.length).replace(/\.$/, '');
  return Number(kept.at(-1)) % 2 === 0 ? kept : text;
}

/** Rounds as C does: an exact half is rounded to the even digit. toExponential() rounds it up. */
function exactExponential(value: number, digits: number): string {
  const text = value.toExponential(Math.min(digits - 1, 100));
  if (digits >= 25) return text;
  // An exact half has one significant digit more than `digits`, so at most 25. A text of 101 digits shows it exactly.
  const exact = value.toExponential(100);
  const [mantissa = '', exponent = ''] = exact.split('e');
  const kept = mantissa.slice(0, mantissa.indexOf('.') + digits).replace(/\.$/, '');
  const rest = mantissa.slice(mantissa.indexOf('.') + digits);
  const isHalf = /^50*$/.test(rest) && Number(kept.at(-1)) % 2 === 0;
  return isHalf ? `${kept}e${exponent}` : text;
}

/** Returns all digits of a number of at least 0 and below 1e21. */
function exactDecimal(size: number): string {
  return size.toFixed(100).replace(/0+$/, '').replace(/\.$/, '');
}

function withoutZeros(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

function formatExponent(exponent: number): string {
  return `e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

function formatInfinite(value: number): string {
  if (Number.isNaN(value)) return '-nan';
  return value < 0 ? '-inf' : 'inf';
}
