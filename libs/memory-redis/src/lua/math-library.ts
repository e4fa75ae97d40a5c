import { library, type Arguments } from './arguments';
import { power } from './operators';
import type { LuaTable } from './table';

const MULTIPLIER = 0x5deece66dn;
const INCREMENT = 0xbn;
const MASK = (1n << 48n) - 1n;
const HIGHEST = 0x7fffffff;

/** Redis' pseudorandom numbers, which are the same in each run of a script. */
export class RandomNumbers {
  private state = 0n;

  constructor() {
    this.seed(0);
  }

  seed(value: number): void {
    this.state = (BigInt.asUintN(32, BigInt(Math.trunc(value))) << 16n) | 0x330en;
  }

  /** Returns a number of at least 0 and below 1. */
  next(): number {
    this.state = (this.state * MULTIPLIER + INCREMENT) & MASK;
    return (Number(this.state >> 17n) % HIGHEST) / HIGHEST;
  }
}

/** Makes a library function of two numbers, which checks the second argument first, as Lua does. */
function ofTwo(calculate: (a: number, b: number) => number): (args: Arguments) => number {
  return (args) => {
    const second = args.number(2);
    return calculate(args.number(1), second);
  };
}

export function createMathLibrary(random: RandomNumbers): LuaTable {
  const one = (calculate: (value: number) => number) => (args: Arguments) => calculate(args.number(1));
  // As in C, and unlike Math.max, a NaN that is not the first argument is passed over.
  const most = (isMore: (value: number, most: number) => boolean) => (args: Arguments) =>
    args.values
      .map((_, index) => args.number(index + 1))
      .reduce((most, value) => (isMore(value, most) ? value : most), args.number(1));
  return library(
    {
      abs: one(Math.abs),
      acos: one(Math.acos),
      asin: one(Math.asin),
      atan: one(Math.atan),
      atan2: ofTwo(Math.atan2),
      ceil: one(Math.ceil),
      cos: one(Math.cos),
      cosh: one(Math.cosh),
      deg: one((value) => (value * 180) / Math.PI),
      exp: one(Math.exp),
      floor: one(Math.floor),
      fmod: ofTwo((a, b) => a % b),
      frexp: (args) => split(args.number(1)),
      ldexp: ofTwo((a, b) => a * 2 ** Math.trunc(b)),
      log: one(Math.log),
      log10: one(Math.log10),
      max: most((value, most) => value > most),
      min: most((value, least) => value < least),
      mod: ofTwo((a, b) => a % b),
      modf: (args) => {
        const value = args.number(1);
        const whole = Math.trunc(value);
        return [whole, Number.isFinite(value) ? value - whole : 0];
      },
      pow: ofTwo(power),
      rad: one((value) => (value * Math.PI) / 180),
      random: (args) => {
        const part = random.next();
        if (args.values.length === 0) return part;
        const [from, to] = args.values.length === 1 ? [1, args.integer(1)] : [args.integer(1), args.integer(2)];
        if (from > to) throw args.invalid(args.values.length, 'interval is empty');
        return Math.floor(part * (to - from + 1)) + from;
      },
      randomseed: (args) => {
        random.seed(args.integer(1));
        return [];
      },
      sin: one(Math.sin),
      sinh: one(Math.sinh),
      sqrt: one(Math.sqrt),
      tan: one(Math.tan),
      tanh: one(Math.tanh),
    },
    { huge: Infinity, pi: Math.PI },
  );
}

/**
 * Splits a number as frexp() of C.
 *
 * @returns a mantissa, whose absolute value is at least 0.5 and below 1, and the exponent of 2. 0, Infinity and NaN stay as they are
 */
function split(value: number): [number, number] {
  if (value === 0 || !Number.isFinite(value)) return [value, 0];
  let exponent = Math.max(-1023, Math.floor(Math.log2(Math.abs(value))) + 1);
  let mantissa = value * 2 ** -exponent;
  while (Math.abs(mantissa) < 0.5) {
    mantissa *= 2;
    exponent--;
  }
  while (Math.abs(mantissa) >= 1) {
    mantissa /= 2;
    exponent++;
  }
  return [mantissa, exponent];
}

export function createBitLibrary(): LuaTable {
  const all = (combine: (a: number, b: number) => number) => (args: Arguments) =>
    args.values
      .slice(1)
      .reduce((sum: number, _, index) => combine(sum, bits(args.number(index + 2))), bits(args.number(1)));
  const shift = (move: (value: number, by: number) => number) => (args: Arguments) =>
    move(bits(args.number(1)), bits(args.number(2)) & 31) | 0;
  return library({
    arshift: shift((value, by) => value >> by),
    band: all((a, b) => a & b),
    bnot: (args) => ~bits(args.number(1)),
    bor: all((a, b) => a | b),
    bswap: (args) =>
      Buffer.from(new Int32Array([bits(args.number(1))]).buffer)
        .swap32()
        .readInt32LE(),
    bxor: all((a, b) => a ^ b),
    lshift: shift((value, by) => value << by),
    rol: shift((value, by) => (value << by) | (value >>> (32 - by))),
    ror: shift((value, by) => (value >>> by) | (value << (32 - by))),
    rshift: shift((value, by) => value >>> by),
    tobit: (args) => bits(args.number(1)),
    tohex: (args) => {
      const digits = bits(args.integer(2, 8));
      if (digits === 0) return '';
      const text = (bits(args.number(1)) >>> 0)
        .toString(16)
        .padStart(8, '0')
        .slice(-Math.min(8, Math.abs(digits)));
      return digits < 0 ? text.toUpperCase() : text;
    },
  });
}

const bytes = new DataView(new ArrayBuffer(8));

/** Returns the low 32 bits of a number after rounding it to an integer. Beyond 2^51, the result is the same as in C. */
function bits(value: number): number {
  // Adding 2^52 + 2^51 moves the integer into the low bits of the floating-point number.
  bytes.setFloat64(0, value + 6755399441055744);
  return bytes.getInt32(4);
}
