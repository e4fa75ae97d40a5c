import { nextTurn } from '../../internal/src';

/** Free slots for attempts. Callers that need slots wait in a queue. */
export class Capacity {
  private readonly waiting: { readonly most: number; readonly grant: (slots: number) => void }[] = [];
  private closed = false;
  private serving = false;

  /** @param freed called when slots became free and no caller waits */
  constructor(
    private slots: number,
    private readonly freed: () => void = () => undefined,
  ) {}

  get free(): number {
    return this.slots;
  }

  /** Reserves 1 to `most` slots; waits until a slot is free. @returns the number of slots; 0 after `close` */
  reserve(most: number): Promise<number> | number {
    if (this.closed) return 0;
    if (this.slots > 0 && this.waiting.length === 0) return this.grab(most);
    return new Promise((grant) => this.waiting.push({ most, grant }));
  }

  /** Reserves up to `most` slots at once. @returns the number of slots, 0 if none is free */
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
      // Often many attempts end in one turn of the event loop. So the caller waits until the end of the turn, and gets the slots of all.
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
