/** Gate that handlers wait at until a test opens it. */
export class Gate {
  /** Number of calls of `pass`. */
  entered = 0;
  private waiting: (() => void)[] = [];

  async pass(): Promise<void> {
    this.entered++;
    await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  open(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}
