import type { Call } from './call';
import type { Lane } from './lane';

/** One timer for all calls: it rings when the first of them may be due, and never looks at calls in between. */
export class Deadlines {
  private timer: NodeJS.Timeout | undefined;
  private ringsAt = Infinity;
  private holding = false;

  /** @param busy lanes that have calls waiting or out */
  constructor(
    private readonly busy: ReadonlySet<Lane>,
    private readonly reject: (call: Call) => void,
  ) {}

  /** Makes sure that the timer rings by then. */
  watch(expiresAt: number): void {
    if (expiresAt < this.ringsAt) this.ringAt(expiresAt);
  }

  /** Keeps the process alive until the calls are settled: nothing else may do so while there is no connection. */
  hold(): void {
    this.holding = true;
    this.timer?.ref();
  }

  /** No call is under way: the timer may go on, but not hold the process. */
  rest(): void {
    if (!this.holding) return;
    this.holding = false;
    this.timer?.unref();
  }

  close(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.ringsAt = Infinity;
  }

  private ringAt(at: number): void {
    clearTimeout(this.timer);
    this.ringsAt = at;
    this.timer = setTimeout(() => this.ring(), Math.max(1, Math.ceil(at - performance.now())));
    // A call that is out has a socket that holds the process; switching this for every call is not free.
    if (!this.holding) this.timer.unref();
  }

  private ring(): void {
    this.ringsAt = Infinity;
    this.timer = undefined;
    // Timers come before sockets: an answer that lies there since this process was busy is read first, and is not late.
    setImmediate(() => this.expire());
  }

  private expire(): void {
    const now = performance.now();
    let next = Infinity;
    for (const lane of [...this.busy]) next = Math.min(next, lane.expire(now, this.reject));
    if (next !== Infinity) this.watch(next);
  }
}
