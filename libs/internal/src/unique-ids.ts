import { randomBytes } from 'node:crypto';

/** Generator of ids that are unique among all instances and processes. An id consists of 96 random bits of the instance, and a counter. */
export class UniqueIds {
  private readonly origin: string;
  private made = 0;
  /**
   * Number of digits of the counter, as text. It is put before the counter, so that a counter with more digits comes later in the order
   * of bytes.
   */
  private digits = '1';
  private longer = 36;

  constructor(prefix = '') {
    this.origin = `${prefix}${randomBytes(12).toString('base64url')}`;
  }

  /**
   * Returns a new id: the prefix, then about 20 letters, digits, `-` and `_`. In the order of bytes, the id comes after the ids that this
   * instance returned before.
   */
  next(): string {
    this.made += 1;
    if (this.made === this.longer) {
      this.digits = this.made.toString(36).length.toString(36);
      this.longer *= 36;
    }
    return this.origin + this.digits + this.made.toString(36);
  }
}
