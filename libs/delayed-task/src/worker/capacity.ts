import { nextTurn } from '../../../internal/src';

/** Free slots for tasks. Callers that need slots wait in a queue. */
export class Capacity {
  private readonly waiting: { readonly most: number; readonly grant: (slots: number) => void }[] = [];
  private closed = false;
  private serving = false;

  constructor(private free: number) {}

  /** Reserves 1 to `most` slots; waits until a slot is free. @returns the number of slots; 0 after `close` */
  reserve(most: number): Promise<number> | number {
    if (this.closed) return 0;
    if (this.free > 0 && this.waiting.length === 0) return this.grab(most);
    return new Promise((grant) => this.waiting.push({ most, grant }));
  }

  release(slots: number): void {
    this.free += slots;
    const next = this.waiting[0];
    if (next === undefined || this.serving) return;
    if (this.free >= next.most) this.serve();
    else {
      // Often many tasks end in one turn of the event loop. So the caller waits until the end of the turn, and gets the slots of all.
      this.serving = true;
      nextTurn(() => {
        this.serving = false;
        this.serve();
      });
    }
  }

  /** Makes all waiting calls and all later calls of `reserve` return 0. */
  close(): void {
    this.closed = true;
    for (const { grant } of this.waiting.splice(0)) grant(0);
  }

  private serve(): void {
    while (this.free > 0) {
      const next = this.waiting.shift();
      if (!next) return;
      next.grant(this.grab(next.most));
    }
  }

  private grab(most: number): number {
    const slots = Math.min(most, this.free);
    this.free -= slots;
    return slots;
  }
}
