import type { ResolvedRewardRule } from './read-reward.options';

/** An item that counts in a user's period, for `luanest/console`. */
export interface RewardItem {
  readonly itemId: string;
  /** Points that were granted for the item. */
  readonly points: number;
  /** Id of the grant, for `refund`. */
  readonly grantId: string;
}

/** Reads rewards for `luanest/console`. */
export interface RewardsConsole {
  /** True if grants and refunds are also written to ledger streams. */
  readonly ledger: boolean;
  rules(): readonly ResolvedRewardRule[];
  /**
   * Returns a page of the items that count in a user's current period, in no particular order; an empty page for an unknown user.
   *
   * @param page `limit`: approximate number of items of a page. Redis returns a small hash on one page (by default, up to 512 items with
   *   short ids). `cursor`: `nextCursor` of the page before
   * @throws InvalidInputError; the errors of ScriptRegistry.run()
   */
  items(
    rule: string,
    userId: string,
    page: { readonly limit: number; readonly cursor?: string },
  ): Promise<{ readonly items: readonly RewardItem[]; readonly nextCursor?: string }>;
  /** Parses a grant's id. @throws InvalidInputError for a text that is not a grant id */
  parse(grantId: string): { readonly rule: string; readonly userId: string; readonly itemId: string };
}
