import { randomBytes } from 'node:crypto';

/** Maximum number of names that share one token, because the names under the current token are kept in memory. */
const MAX_NAMES = 1_024;

/**
 * Generator of owner tokens. Two acquisitions of one name never have the same token. Acquisitions of different names may share a
 * token, because an argument that all calls of a group have in common is sent once, and Redis builds one value for all of them.
 * See DECISIONS.md: owner-token-for-many-names
 */
export class OwnerTokens {
  private readonly process = randomBytes(9).toString('base64url');
  private readonly names = new Set<string>();
  private issued = 0;
  private token: string;

  /** @param holder name of this process, which `status` returns; must not contain `#` */
  constructor(private readonly holder: string) {
    this.token = this.next();
  }

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

export function holderOf(token: string): string {
  return token.slice(0, token.lastIndexOf('#'));
}
