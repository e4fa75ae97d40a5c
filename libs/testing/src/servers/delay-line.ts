import { performance } from 'node:perf_hooks';
import * as timers from 'node:timers';

// The fake timers of a test may replace these functions later, so the real ones are saved when this file is loaded.
const { clearTimeout, setTimeout } = timers;

interface Item {
  due: number;
  deliver: () => void;
}

/**
 * Delivers items in order, each with a delay that begins when it arrives. So items that arrive together are delivered together, as on a
 * real connection.
 */
export class DelayLine {
  readonly #items: Item[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly latencyMs: () => number) {}

  push(deliver: () => void): void {
    const latency = this.latencyMs();
    if (latency === 0 && this.#items.length === 0) return deliver();
    const previous = this.#items.at(-1)?.due ?? 0;
    this.#items.push({ due: Math.max(performance.now() + latency, previous), deliver });
    this.#arm();
  }

  clear(): void {
    this.#items.length = 0;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #arm(): void {
    const next = this.#items[0];
    if (this.#timer || !next) return;
    this.#timer = setTimeout(() => this.#flush(), Math.max(0, Math.ceil(next.due - performance.now())));
  }

  #flush(): void {
    this.#timer = undefined;
    const now = performance.now();
    let count = 0;
    while ((this.#items[count]?.due ?? Infinity) <= now) count += 1;
    for (const item of this.#items.splice(0, count)) item.deliver();
    this.#arm();
  }
}
