/** Earlier entries of changed keys. Undefined means that the key did not exist. */
export type Changes<Entry> = Map<string, Entry | undefined>;

/**
 * A saved state of the keys. The saved states form a tree. Each state refers to the next state on the way to the present one. It stores
 * only the keys that differ between itself and that next state. The garbage collector frees a state when the caller has dropped it, no
 * other state refers to it, and it is not `History.last`.
 *
 * Baker described this method: Shallow Binding Makes Functional Arrays Fast, 1991.
 */
export class KeysState<Entry> {
  next: KeysState<Entry> | undefined;
  changes: Changes<Entry> = new Map();
}

/** Saves and restores states of a map. */
export class History<Entry> {
  /** The state that was saved or restored last. Its `changes` are the keys that were changed since then. */
  private last: KeysState<Entry> | undefined;

  constructor(private readonly entries: Map<string, Entry>) {}

  /** Must be called before a key changes. Keeps the earlier entry of the key for the last state. */
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

  /** Restores a saved state. It becomes `last`. @throws RangeError if the state is of another map */
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

  /** Sets keys to the given entries. @returns the entries that these keys had before */
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
