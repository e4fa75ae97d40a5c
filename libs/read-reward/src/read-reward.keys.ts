import type { KeySpace, TaggedKeys } from 'luanest/script-registry';

/** Keys of one rule in one shard: functions from a user id to the key. */
export interface RuleKeys {
  readonly items: (userId: string) => string;
  readonly state: (userId: string) => string;
}

/**
 * Keys in Redis. Users are sharded over a fixed number of hash tags, so that many users share a slot, and the keys of the ledger are
 * known. See DECISIONS.md: users-in-fixed-shards
 */
export class RewardKeys {
  private readonly tags: readonly TaggedKeys[];
  private readonly byRule = new Map<string, readonly RuleKeys[]>();
  /** Keys of the ledger's streams, one for each shard. */
  readonly ledgers: readonly string[];

  constructor(space: KeySpace, shards: number, rules: Iterable<string>) {
    this.tags = Array.from({ length: shards }, (_, shard) => space.tag(`s${shard}`));
    this.ledgers = this.tags.map((tag) => tag.key('ledger'));
    for (const rule of rules) {
      const keys = this.tags.map((tag) => ({ items: tag.series('items', rule), state: tag.series('state', rule) }));
      this.byRule.set(rule, keys);
    }
  }

  /** Returns the shard of a user. @param hash hash of the user id, by `spread` */
  shardOf(hash: number): number {
    return hash % this.tags.length;
  }

  of(rule: string, shard: number): RuleKeys {
    return (this.byRule.get(rule) as readonly RuleKeys[])[shard] as RuleKeys;
  }

  key(shard: number, name: string, ...segments: readonly string[]): string {
    return (this.tags[shard] as TaggedKeys).key(name, ...segments);
  }
}
