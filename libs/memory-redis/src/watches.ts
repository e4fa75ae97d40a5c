/** Keys that one connection watches with WATCH. */
export class Watch {
  readonly keys = new Set<string>();
  /** True if a watched key may have changed since WATCH, so that EXEC does nothing. */
  isBroken = false;
}

/** Keys that any connection watches. */
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

  /** Called when a key changes, so that transactions that watch the key fail. */
  note(key: string): void {
    if (this.watching.size === 0) return;
    for (const watch of this.watching.get(key) ?? []) watch.isBroken = true;
  }

  noteAll(): void {
    for (const key of this.watching.keys()) this.note(key);
  }
}
