import type { KeySpace } from 'luanest/script-registry';

/**
 * Builds the Redis keys. Users are sharded over a fixed number of hash tags (partitions), each with one ledger stream.
 * See DECISIONS.md: users-in-fixed-partitions
 */
export class RewardKeys {
  private readonly tags: readonly ReturnType<KeySpace['tag']>[];
  private readonly states = new Map<string, readonly ((userId: string) => string)[]>();
  /** Keys of the ledger streams, one for each partition. */
  readonly ledgers: readonly string[];

  constructor(space: KeySpace, partitions: number, rules: Iterable<string>) {
    this.tags = Array.from({ length: partitions }, (_, partition) => space.tag(`s${partition}`));
    this.ledgers = this.tags.map((tag) => tag.key('ledger'));
    for (const rule of rules)
      this.states.set(
        rule,
        this.tags.map((tag) => tag.series('state', rule)),
      );
  }

  /** Returns the partition of a user. @param hash hash of the user id */
  partitionOf(hash: number): number {
    return hash % this.tags.length;
  }

  /** Returns the key of a user's state. @param rule name of a rule of the options */
  state(rule: string, partition: number, userId: string): string {
    return (this.states.get(rule) as readonly ((userId: string) => string)[])[partition]!(userId);
  }

  key(partition: number, name: string, ...segments: readonly string[]): string {
    return (this.tags[partition] as ReturnType<KeySpace['tag']>).key(name, ...segments);
  }
}
