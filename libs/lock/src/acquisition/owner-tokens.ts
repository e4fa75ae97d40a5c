import { randomBytes } from 'node:crypto';

/** Number of names that may share one token. Limits the memory for them. */
const MAX_NAMES = 1_024;

/**
 * Generator of owner tokens. Two acquisitions of one name never have the same token. Acquisitions of different names share
 * one: arguments that all calls of a group share are sent once, and Redis builds one value for all of them.
 * See DECISIONS.md: owner-token-for-many-names
 */
export class OwnerTokens {
  private readonly process = randomBytes(9).toString('base64url');
  private readonly names = new Set<string>();
  private issued = 0;
  private token: string;

  /** @param holder name that `status` returns; must not contain `#` */
  constructor(private readonly holder: string) {
    this.token = this.next();
  }

  /** Returns the token for an acquisition of `name`. */
  tokenFor(name: string): string {
    if (this.names.has(name) || this.names.size === MAX_NAMES) {
      this.names.clear();
      this.token = this.next();
    }
    this.names.add(name);
    return this.token;
  }

  private next(): string {
    return `${this.holder}#${this.process}${this.issued++}`;
  }
}

/** Returns the holder that a token contains. */
export function holderOf(token: string): string {
  return token.slice(0, token.lastIndexOf('#'));
}
