/** How many more tasks may run; those that want room wait in line. */
export class Capacity {
  private readonly waiting: { readonly most: number; readonly give: (room: number) => void }[] = [];
  private closed = false;

  constructor(private free: number) {}

  /** Room for at least one task and `most` of them; 0 when it was closed. */
  reserve(most: number): Promise<number> | number {
    if (this.closed) return 0;
    if (this.free > 0 && this.waiting.length === 0) return this.grab(most);
    return new Promise((give) => this.waiting.push({ most, give }));
  }

  /** As `reserve`, and 0 when there is no room now. */
  tryReserve(most: number): number {
    return this.closed || this.free <= 0 || this.waiting.length > 0 ? 0 : this.grab(most);
  }

  release(room: number): void {
    this.free += room;
    while (this.free > 0) {
      const next = this.waiting.shift();
      if (!next) return;
      next.give(this.grab(next.most));
    }
  }

  /** Sends those away that wait, and all who come. */
  close(): void {
    this.closed = true;
    for (const { give } of this.waiting.splice(0)) give(0);
  }

  private grab(most: number): number {
    const room = Math.min(most, this.free);
    this.free -= room;
    return room;
  }
}
