import { subscribe, unsubscribe } from 'node:diagnostics_channel';

/** Waits for events. Calls `seen` for each event until `end()`; `result` is the first result of `seen` that is not undefined. */
export class EventWait<Result> {
  readonly result: Promise<Result>;
  private readonly listeners: (readonly [channel: string, listener: (event: unknown) => void])[] = [];
  private resolve!: (result: Result) => void;

  constructor() {
    this.result = new Promise<Result>((resolve) => (this.resolve = resolve));
  }

  on<Event>(channel: string, seen: (event: Event) => Result | undefined): this {
    const listener = (event: unknown): void => {
      const result = seen(event as Event);
      if (result !== undefined) this.resolve(result);
    };
    subscribe(channel, listener);
    this.listeners.push([channel, listener]);
    return this;
  }

  end(): void {
    for (const [channel, listener] of this.listeners) unsubscribe(channel, listener);
  }
}
