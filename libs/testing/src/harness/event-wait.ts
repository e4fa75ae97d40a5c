import { subscribeTo } from '../../../internal/src';

/** Waits for events. Calls `seen` for each event until `end()`; `result` is the first result of `seen` that is not undefined. */
export class EventWait<Result> {
  readonly result: Promise<Result>;
  private readonly ends: (() => void)[] = [];
  private resolve!: (result: Result) => void;

  constructor() {
    this.result = new Promise<Result>((resolve) => (this.resolve = resolve));
  }

  on<Event>(channel: string, seen: (event: Event) => Result | undefined): this {
    const end = subscribeTo(channel, (event) => {
      const result = seen(event as Event);
      if (result !== undefined) this.resolve(result);
    });
    this.ends.push(end);
    return this;
  }

  end(): void {
    for (const end of this.ends) end();
  }
}
