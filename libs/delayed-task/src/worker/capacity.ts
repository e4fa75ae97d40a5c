/** How many more tasks may run; those that want room wait in line. */
export class Capacity {
  private readonly waiting: { readonly most: number; readonly give: (room: number) => void }[] = [];
  private closed = false;
  private serving = false;

  constructor(private free: number) {}

  /** Room for at least one task and `most` of them; 0 when it was closed. */
  reserve(most: number): Promise<number> | number {
    if (this.closed) return 0;
    if (this.free > 0 && this.waiting.length === 0) return this.grab(most);
    return new Promise((give) => this.waiting.push({ most, give }));
  }

  release(room: number): void {
    this.free += room;
    const next = this.waiting[0];
    if (next === undefined || this.serving) return;
    if (this.free >= next.most) this.serve();
    else {
      // Many tasks end in one turn of the event loop: who waits gets the room of all of them.
      this.serving = true;
      setImmediate(() => {
        this.serving = false;
        this.serve();
      });
    }
  }

  /** Sends those away that wait, and all who come. */
  close(): void {
    this.closed = true;
    for (const { give } of this.waiting.splice(0)) give(0);
  }

  private serve(): void {
    while (this.free > 0) {
      const next = this.waiting.shift();
      if (!next) return;
      next.give(this.grab(next.most));
    }
  }

  private grab(most: number): number {
    const room = Math.min(most, this.free);
    this.free -= room;
    return room;
  }
}
