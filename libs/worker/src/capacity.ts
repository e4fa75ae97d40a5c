import { nextTurn } from '../../internal/src';

/**
 * Limits how many handlers of a worker run at the same time. Each running handler occupies one slot. Code that wants to start a handler
 * reserves a slot first, and waits in a queue while all slots are occupied.
 */
export class Capacity {
  private readonly waiting: { readonly most: number; readonly grant: (slots: number) => void }[] = [];
  private closed = false;
  private serving = false;

  /**
   * @param slots number of handlers that may run at the same time
   * @param freed function to call when a slot becomes free and no code waits for a slot
   */
  constructor(
    private slots: number,
    private readonly freed: () => void = () => undefined,
  ) {}

  get free(): number {
    return this.slots;
  }

  /** Reserves 1 to `most` slots. Waits until a slot is free. @returns the number of reserved slots; 0 after `close` */
  reserve(most: number): Promise<number> | number {
    if (this.closed) return 0;
    if (this.slots > 0 && this.waiting.length === 0) return this.grab(most);
    return new Promise((grant) => this.waiting.push({ most, grant }));
  }

  /** Reserves up to `most` slots without waiting. @returns the number of reserved slots; 0 if no slot is free */
  grab(most: number): number {
    const slots = Math.min(most, this.slots);
    this.slots -= slots;
    return slots;
  }

  release(slots: number): void {
    this.slots += slots;
    const next = this.waiting[0];
    if (next === undefined) this.freed();
    else if (this.serving) return;
    else if (this.slots >= next.most) this.serve();
    else {
      // Many handlers may end in one turn of the event loop. Waiting until the end of the turn gives the first waiting caller all of their
      // slots at once, instead of one slot per call.
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
    while (this.slots > 0) {
      const next = this.waiting.shift();
      if (!next) return;
      next.grant(this.grab(next.most));
    }
  }
}
