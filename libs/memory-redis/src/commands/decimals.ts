import { NOT_A_FLOAT, refuse } from '../reply';

const DECIMAL = /^([-+]?)(\d*)\.?(\d*)(?:[eE]([-+]?\d+))?$/;
const INFINITE = /^[-+]?inf(?:inity)?$/i;
/** Redis replies with at most this many digits after the decimal point. */
const DIGITS = 17;

/**
 * Adds two decimal numbers for INCRBYFLOAT, exactly, and rounds the sum to 17 digits after the point. Redis calculates with binary
 * floating-point numbers, so its last digits may differ.
 */
export function addDecimals(
  a: string,
  b: string,
  notAFloat = NOT_A_FLOAT,
  infinite = 'ERR increment would produce NaN or Infinity',
): string {
  const [left, right] = [parse(a, notAFloat), parse(b, INFINITE.test(b) ? infinite : NOT_A_FLOAT)];
  const scale = Math.max(left.scale, right.scale, DIGITS);
  const sum = left.digits * 10n ** BigInt(scale - left.scale) + right.digits * 10n ** BigInt(scale - right.scale);
  return format(sum, scale);
}

function parse(text: string, notAFloat: string): { digits: bigint; scale: number } {
  const [whole, sign, integer = '', part = '', exponent = '0'] = DECIMAL.exec(text) ?? [];
  if (whole === undefined || integer + part === '' || Math.abs(Number(exponent)) > 4000) refuse(notAFloat);
  const digits = BigInt(`${integer}${part}`) * (sign === '-' ? -1n : 1n);
  const scale = part.length - Number(exponent);
  return scale >= 0 ? { digits, scale } : { digits: digits * 10n ** BigInt(-scale), scale: 0 };
}

function format(sum: bigint, scale: number): string {
  const size = sum < 0n ? -sum : sum;
  const unit = 10n ** BigInt(scale - DIGITS);
  const rounded = (size + unit / 2n) / unit;
  const text = String(rounded).padStart(DIGITS + 1, '0');
  const part = text.slice(-DIGITS).replace(/0+$/, '');
  return `${sum < 0n && rounded > 0n ? '-' : ''}${text.slice(0, -DIGITS)}${part === '' ? '' : `.${part}`}`;
}
