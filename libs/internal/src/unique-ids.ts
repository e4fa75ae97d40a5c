import { randomBytes } from 'node:crypto';

/** Generator of ids that are unique among all instances and processes: 96 random bits of the instance, and a counter. */
export class UniqueIds {
  private readonly origin: string;
  private made = 0;
  /** How many digits the counter has, in front of it, so that a longer number comes later in the order of bytes. */
  private digits = '1';
  private longer = 36;

  constructor(prefix = '') {
    this.origin = `${prefix}${randomBytes(12).toString('base64url')}`;
  }

  /** Returns a new id: the prefix, then about 20 letters, digits, `-` and `_`. In the order of their bytes, it comes after the last. */
  next(): string {
    this.made += 1;
    if (this.made === this.longer) {
      this.digits = this.made.toString(36).length.toString(36);
      this.longer *= 36;
    }
    return this.origin + this.digits + this.made.toString(36);
  }
}
