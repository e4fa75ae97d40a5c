/** Pseudorandom numbers from a seed. The same seed and name give the same numbers, in every process. */
export class Random {
  // Four words of state: with one, parts of two streams are sometimes equal, and so are the ids that Nest makes of them.
  private a: number;
  private b: number;
  private c: number;
  private d = 1;

  constructor(
    private readonly seed: number,
    name = '',
  ) {
    this.a = hashOf(name, 0x811c9dc5 ^ seed);
    this.b = hashOf(name, this.a);
    this.c = seed | 0;
    for (let round = 0; round < 12; round++) this.next();
  }

  /** Returns other numbers of the same seed. So one part of a run does not depend on how many numbers another one drew. */
  named(name: string): Random {
    return new Random(this.seed ^ Math.imul(this.a, 0x9e3779b1), name);
  }

  /** Returns a number from 0 to 1 (exclusive). */
  next(): number {
    // sfc32
    const sum = (((this.a + this.b) | 0) + this.d) | 0;
    this.d = (this.d + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = (((this.c << 21) | (this.c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  }

  /** Returns an integer of `from` to `to` (both inclusive). */
  integer(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.next() * items.length)] as T;
  }

  /** Returns an integer of `from` to `to`. Each order of magnitude is as likely as the next. */
  magnitude(from: number, to: number): number {
    return Math.round(Math.exp(Math.log(from) + this.next() * (Math.log(to) - Math.log(from))));
  }

  /** Returns how long some work takes, ms: mostly about as long as a lease, sometimes much shorter. */
  work(leaseMs: number): number {
    return this.chance(0.4)
      ? this.magnitude(1, leaseMs)
      : this.integer(Math.ceil(leaseMs / 5), Math.ceil(1.2 * leaseMs));
  }

  bytes(length: number): Buffer {
    const bytes = Buffer.alloc(length);
    for (let at = 0; at < length; at++) bytes[at] = this.next() * 256;
    return bytes;
  }
}

function hashOf(name: string, basis: number): number {
  let hash = basis;
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  return hash | 0;
}
