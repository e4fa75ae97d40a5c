import { randomBytes } from 'node:crypto';

/** Ids that no other instance and no other process makes: 96 random bits for the instance, and a counter. */
export class UniqueIds {
  private readonly origin: string;
  private made = 0;

  /** @param prefix that each id begins with */
  constructor(prefix = '') {
    this.origin = `${prefix}${randomBytes(12).toString('base64url')}.`;
  }

  /** Makes the next id: after the prefix about 20 letters, digits, `-`, `_` and one `.`. */
  next(): string {
    this.made += 1;
    return this.origin + this.made.toString(36);
  }
}
