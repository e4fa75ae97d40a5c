/** Earlier entries of keys, by their names; undefined for a key that did not exist. */
export type Changes<Entry> = Map<string, Entry | undefined>;

/**
 * A state of the keys. States form a tree. Each refers to the next state on the way to the present one, and has the keys that
 * differ between the two. A state that the caller drops needs no release: it is collected when no other state refers to it and it
 * is not the last one.
 *
 * This is how Baker made arrays that keep their earlier versions: Shallow Binding Makes Functional Arrays Fast, 1991.
 */
export class KeysState<Entry> {
  next: KeysState<Entry> | undefined;
  changes: Changes<Entry> = new Map();
}

/** Remembers states of a map, and returns to them. */
export class History<Entry> {
  /** The state that was remembered or restored last. Its changes are those since then. */
  private last: KeysState<Entry> | undefined;

  constructor(private readonly entries: Map<string, Entry>) {}

  /** Notes a key before it changes. */
  remember(key: string): void {
    const changes = this.last?.changes;
    if (changes !== undefined && !changes.has(key)) changes.set(key, this.entries.get(key));
  }

  /** Returns the state as it is now. */
  save(): KeysState<Entry> {
    if (this.last?.changes.size === 0) return this.last;
    const state = new KeysState<Entry>();
    if (this.last !== undefined) this.last.next = state;
    this.last = state;
    return state;
  }

  /** Returns to a state, which becomes the last one. @throws RangeError if it is a state of another map */
  restore(state: KeysState<Entry>): void {
    const way: KeysState<Entry>[] = [];
    let end = state;
    for (let next = state.next; next !== undefined; next = next.next) {
      way.push(end);
      end = next;
    }
    if (end !== this.last) throw new RangeError('The snapshot is of another server.');
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

  /** Changes keys. @returns what they were */
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
