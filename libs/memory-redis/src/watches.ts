/** The keys that one connection watches (WATCH). */
export class Watch {
  readonly keys = new Set<string>();
  /** True if one of the keys may have changed since WATCH. EXEC then does nothing. */
  isBroken = false;
}

/** The keys that any connection watches. */
export class Watches {
  private readonly watching = new Map<string, Set<Watch>>();

  add(key: string, watch: Watch): void {
    const known = this.watching.get(key) ?? new Set();
    this.watching.set(key, known.add(watch));
    watch.keys.add(key);
  }

  remove(watch: Watch): void {
    for (const key of watch.keys) {
      const known = this.watching.get(key);
      known?.delete(watch);
      if (known?.size === 0) this.watching.delete(key);
    }
  }

  /** Marks all watches of a key as broken. Called when the key changes. */
  note(key: string): void {
    if (this.watching.size === 0) return;
    for (const watch of this.watching.get(key) ?? []) watch.isBroken = true;
  }

  noteAll(): void {
    for (const key of this.watching.keys()) this.note(key);
  }
}
