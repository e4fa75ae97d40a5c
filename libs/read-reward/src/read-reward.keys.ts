import type { KeySpace, TaggedKeys } from 'luanest/script-registry';

/** Keys of one rule, by user; one for each shard. */
export interface RuleKeys {
  readonly items: (userId: string) => string;
  readonly state: (userId: string) => string;
}

// See DECISIONS.md: users-in-fixed-shards
/** Spreads users over hash tags, so that calls of many users share a slot and a ledger has a known place. */
export class RewardKeys {
  private readonly tags: readonly TaggedKeys[];
  private readonly byRule = new Map<string, readonly RuleKeys[]>();
  /** Streams of the ledger, one a shard. */
  readonly ledgers: readonly string[];

  constructor(space: KeySpace, shards: number, rules: Iterable<string>) {
    this.tags = Array.from({ length: shards }, (_, shard) => space.tag(`s${shard}`));
    this.ledgers = this.tags.map((tag) => tag.key('ledger'));
    for (const rule of rules) {
      const keys = this.tags.map((tag) => ({ items: tag.series('items', rule), state: tag.series('state', rule) }));
      this.byRule.set(rule, keys);
    }
  }

  /** The shard of a user, by `spread`. */
  shardOf(hash: number): number {
    return hash % this.tags.length;
  }

  /** Keys of a rule in a shard. */
  of(rule: string, shard: number): RuleKeys {
    return (this.byRule.get(rule) as readonly RuleKeys[])[shard] as RuleKeys;
  }

  /** Any other key of a user. */
  key(shard: number, name: string, ...segments: readonly string[]): string {
    return (this.tags[shard] as TaggedKeys).key(name, ...segments);
  }
}
