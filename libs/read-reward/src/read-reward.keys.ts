import type { KeySpace, TaggedKeys } from 'luanest/script-registry';

/** Spreads users over hash tags, so that calls of many users share a slot and a ledger has a known place. */
export class RewardKeys {
  private readonly tags: readonly TaggedKeys[];
  /** Streams of the ledger, one a shard. */
  readonly ledgers: readonly string[];

  constructor(space: KeySpace, shards: number) {
    this.tags = Array.from({ length: shards }, (_, shard) => space.tag(`s${shard}`));
    this.ledgers = this.tags.map((tag) => tag.key('ledger'));
  }

  /** The shard of a user: FNV-1a over its UTF-16 units. */
  shardOf(userId: string): number {
    let hash = 0x811c9dc5;
    for (let i = 0; i < userId.length; i++) hash = Math.imul(hash ^ userId.charCodeAt(i), 0x01000193);
    return (hash >>> 0) % this.tags.length;
  }

  /** A key of a user and rule. */
  key(shard: number, name: string, ...segments: readonly string[]): string {
    return (this.tags[shard] as TaggedKeys).key(name, ...segments);
  }
}
