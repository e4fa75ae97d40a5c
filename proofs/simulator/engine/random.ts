/** Pseudorandom numbers from a seed. The same seed and name give the same numbers, in every process. */
export class Random {
  private state: number;

  constructor(
    private readonly seed: number,
    name = '',
  ) {
    let hash = (0x811c9dc5 ^ seed) >>> 0;
    for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193) >>> 0;
    this.state = hash;
    this.next();
  }

  /** Returns other numbers of the same seed. So one part of a run does not depend on how many numbers another one drew. */
  named(name: string): Random {
    return new Random(this.seed ^ Math.imul(this.state, 0x9e3779b1), name);
  }

  /** Returns a number from 0 to 1 (exclusive). */
  next(): number {
    // mulberry32
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
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
