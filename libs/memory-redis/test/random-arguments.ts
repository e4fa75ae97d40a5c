import type { Random } from './random';

export const KEYS = [
  'str',
  'str2',
  'hash',
  'list',
  'list2',
  'set',
  'set2',
  'zset',
  'stream',
  'stream2',
  'none',
] as const;
const VALUES = [
  '',
  'a',
  'b',
  'c',
  '1',
  '-5',
  '10',
  '3.5',
  'x y',
  '\r\n',
  '\0\xff',
  'é',
  'abc',
  '007',
  '9223372036854775807',
];
const FIELDS = ['', 'f', 'g', 'h', '1', '2', '-7', '\xff'];
const INTEGERS = ['0', '1', '-1', '2', '3', '-3', '5', '10', '100', '-100', '1.5', 'x', '', ' 1', '+1', '01', '-0'];
const HUGE = ['9223372036854775807', '-9223372036854775808', '9223372036854775808', '99999999999999999999', '1e3'];
const FLOATS = [
  '0',
  '1',
  '-1',
  '1.5',
  '2',
  '3',
  '0.1',
  'inf',
  '-inf',
  '+inf',
  'nan',
  '1e3',
  '-0',
  '0x10',
  'x',
  '',
  ' 1',
  '1 ',
];
export const BOUNDS = ['-inf', '+inf', '0', '1', '(1', '2', '(2', '1.5', '(x', 'x', '(', ''];
export const TEXT_BOUNDS = ['-', '+', '[a', '(a', '[b', '(c', '[', 'a', ''];
export const GROUPS = ['g1', 'g2', 'nogroup'];
const CONSUMERS = ['c1', 'c2', 'C3'];
/** Far ahead, so that the two clocks need not agree. */
export const TIMES = ['4102444800000', '4102444800001', '5102444800000', '1', '0', '-1', 'x', '9223372036854775807'];

/** Makes arguments of commands: a few keys, and values that are often wrong. */
export class RandomArguments {
  constructor(readonly random: Random) {}

  /** Picks a few options. An option may have several words. */
  some(options: readonly string[]): string[] {
    return this.random
      .list(0, this.random.pick([0, 0, 1, 1, 2]), () => this.random.pick(options))
      .flatMap((one) => one.split(' '));
  }

  pick(words: string): string {
    return this.random.pick(words.split(' '));
  }

  key(key: string): string {
    return this.random.chance(0.93) ? key : this.random.pick(KEYS);
  }

  anyKey(): string {
    return this.random.pick(KEYS);
  }

  value(): string {
    return this.random.pick(VALUES);
  }

  field(): string {
    return this.random.pick(FIELDS);
  }

  integer(): string {
    return this.random.pick(this.random.chance(0.1) ? HUGE : INTEGERS);
  }

  float(): string {
    return this.random.pick(this.random.chance(0.1) ? HUGE : FLOATS);
  }

  id(): string {
    return this.random.chance(0.95)
      ? `${this.random.below(12)}-${this.random.below(3)}`
      : this.pick('x 1-x - + $ 5 007');
  }

  newId(): string {
    const known = `${this.random.below(12)}-${this.random.below(3)}`;
    return this.random.chance(0.95)
      ? known
      : this.pick('0-0 x 5 18446744073709551615-18446744073709551615 18446744073709551616 -');
  }

  bound(): string {
    return this.random.chance(0.4) ? this.pick('- +') : `${this.pick('( ( [').replace('[', '')}${this.id()}`;
  }

  group(): string {
    return this.random.chance(0.95) ? this.random.pick(['g1', 'g1', 'g2']) : 'nogroup';
  }

  consumer(): string {
    return this.random.pick(CONSUMERS);
  }
}
