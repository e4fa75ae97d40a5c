import { subscribe, unsubscribe } from 'node:diagnostics_channel';

/** Collects the events that a lib publishes in each test of the block: the name of the event, and what it says. */
export class Published {
  private list: unknown[] = [];

  /** @param channels names of the channels, by the names of their events */
  constructor(channels: Readonly<Record<string, string>>) {
    const listeners = Object.entries(channels).map(
      ([event, channel]) => [channel, (message: unknown) => this.add(event, message)] as const,
    );
    beforeEach(() => {
      this.list = [];
      for (const [channel, listener] of listeners) subscribe(channel, listener);
    });
    afterEach(() => {
      for (const [channel, listener] of listeners) unsubscribe(channel, listener);
    });
  }

  /** Returns the events since the last call. */
  take(): unknown[] {
    const { list } = this;
    this.list = [];
    return list;
  }

  private add(event: string, message: unknown): void {
    // Channels are those of the process. An earlier test file may have left a lease that ends now: its objects have another Object.
    if (message instanceof Object) this.list.push([event, message]);
  }
}
