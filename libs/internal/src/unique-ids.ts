import { randomBytes } from 'node:crypto';

/** Generator of ids that are unique among all instances and processes: 96 random bits of the instance, and a counter. */
export class UniqueIds {
  private readonly origin: string;
  private made = 0;

  constructor(prefix = '') {
    this.origin = `${prefix}${randomBytes(12).toString('base64url')}.`;
  }

  /** Returns a new id: the prefix, then about 20 letters, digits, `-`, `_` and one `.`. In the order of their bytes, it comes after the last. */
  next(): string {
    this.made += 1;
    const count = this.made.toString(36);
    // A longer number comes later.
    return this.origin + count.length.toString(36) + count;
  }
}
