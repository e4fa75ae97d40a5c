import { randomBytes } from 'node:crypto';

/** Texts that no other call and no other process has: random for the process, counted within it. */
export class Tokens {
  private readonly prefix = randomBytes(12).toString('base64url');
  private made = 0;

  /** Letters, digits, `-`, `_` and `.`; about 20 characters. */
  next(): string {
    this.made += 1;
    return `${this.prefix}.${this.made.toString(36)}`;
  }
}
