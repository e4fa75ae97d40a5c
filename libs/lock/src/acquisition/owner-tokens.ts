import { randomBytes } from 'node:crypto';

/** Names under one token; then there is a next one. Bounds what is remembered. */
const MAX_NAMES = 1_024;

/**
 * Tokens of acquisitions, no two of one name alike. Acquisitions of different names share one: what all calls of a group
 * have in common is sent once, and Redis builds one value for all of them.
 * See DECISIONS.md: owner-token-for-many-names
 */
export class Owners {
  private readonly process = randomBytes(9).toString('base64url');
  private readonly names = new Set<string>();
  private issued = 0;
  private token: string;

  /** @param holder whom `status` shows; without `#` */
  constructor(private readonly holder: string) {
    this.token = this.next();
  }

  /** The token for an acquisition of `name`. */
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

/** The holder in a token. */
export function holderOf(token: string): string {
  return token.slice(0, token.lastIndexOf('#'));
}
