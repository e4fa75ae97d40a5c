/** Earlier values of changed keys; undefined if the key did not exist. */
export type Changes<Entry> = Map<string, Entry | undefined>;

/**
 * A saved state of the keys. States form a chain that ends at the present state: each one refers to the next one, and stores only the keys
 * that differ between the two. So saving copies nothing. The garbage collector frees a state that the caller has dropped and that no other
 * state needs.
 *
 * Baker described this method: Shallow Binding Makes Functional Arrays Fast, 1991.
 */
export class KeysState<Entry> {
  next: KeysState<Entry> | undefined;
  changes: Changes<Entry> = new Map();
}

export class History<Entry> {
  /** State that was saved or restored last. Its `changes` list the keys that have changed since then. */
  private last: KeysState<Entry> | undefined;

  constructor(private readonly entries: Map<string, Entry>) {}

  /** Keeps the present value of a key for the last saved state. Must be called before the key changes. */
  remember(key: string): void {
    const changes = this.last?.changes;
    if (changes !== undefined && !changes.has(key)) changes.set(key, this.entries.get(key));
  }

  /** Saves the present state of the map. */
  save(): KeysState<Entry> {
    if (this.last?.changes.size === 0) return this.last;
    const state = new KeysState<Entry>();
    if (this.last !== undefined) this.last.next = state;
    this.last = state;
    return state;
  }

  /** Restores a saved state. @throws RangeError if the state belongs to another map */
  restore(state: KeysState<Entry>): void {
    const way: KeysState<Entry>[] = [];
    let end = state;
    for (let next = state.next; next !== undefined; next = next.next) {
      way.push(end);
      end = next;
    }
    if (end !== this.last)
      throw new RangeError(
        'MemoryRedis.restore(): The snapshot was made by another MemoryRedis. Pass a snapshot of the same object.',
      );
    this.swap(end.changes);
    end.changes = new Map();
    for (const one of way.reverse()) {
      end.changes = this.swap(one.changes);
      end.next = one;
      one.changes = new Map();
      one.next = undefined;
      end = one;
    }
    this.last = state;
  }

  /** Replaces values of keys. @returns the values that these keys had before */
  private swap(changes: Changes<Entry>): Changes<Entry> {
    const before: Changes<Entry> = new Map();
    for (const [key, entry] of changes) {
      before.set(key, this.entries.get(key));
      if (entry === undefined) this.entries.delete(key);
      else this.entries.set(key, entry);
    }
    return before;
  }
}
