import type { KeySpace, TaggedKeys } from 'luanest/script-registry';

/**
 * Keys in Redis. Users are sharded over a fixed number of hash tags, so that many users share a slot, and the keys of the ledger are
 * known. See DECISIONS.md: users-in-fixed-shards
 */
export class RewardKeys {
  private readonly tags: readonly TaggedKeys[];
  private readonly states = new Map<string, readonly ((userId: string) => string)[]>();
  /** Keys of the ledger's streams, one for each shard. */
  readonly ledgers: readonly string[];

  constructor(space: KeySpace, shards: number, rules: Iterable<string>) {
    this.tags = Array.from({ length: shards }, (_, shard) => space.tag(`s${shard}`));
    this.ledgers = this.tags.map((tag) => tag.key('ledger'));
    for (const rule of rules)
      this.states.set(
        rule,
        this.tags.map((tag) => tag.series('state', rule)),
      );
  }

  /** Returns the shard of a user. @param hash hash of the user id, by `spread` */
  shardOf(hash: number): number {
    return hash % this.tags.length;
  }

  /** Returns the key of a user's state. @param rule name of a rule of the options */
  state(rule: string, shard: number, userId: string): string {
    return (this.states.get(rule) as readonly ((userId: string) => string)[])[shard]!(userId);
  }

  key(shard: number, name: string, ...segments: readonly string[]): string {
    return (this.tags[shard] as TaggedKeys).key(name, ...segments);
  }
}
