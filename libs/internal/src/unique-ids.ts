import { randomBytes } from 'node:crypto';

/** Creates ids that are unique over all processes: 96 random bits of this object, and a counter. */
export class UniqueIds {
  private readonly origin: string;
  private made = 0;
  /** Number of digits of the counter, as text. Ids contain it before the counter, so that they sort in the order of their creation. */
  private digits = '1';
  private longer = 36;

  constructor(prefix = '') {
    this.origin = `${prefix}${randomBytes(12).toString('base64url')}`;
  }

  /**
   * Returns a new id: the prefix, then about 20 letters, digits, `-` and `_`. Compared by bytes, it sorts after all earlier ids of this
   * object.
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
