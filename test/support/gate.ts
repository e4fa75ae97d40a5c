/** Something that handlers wait for. */
export class Gate {
  /** How often somebody came to it. */
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
