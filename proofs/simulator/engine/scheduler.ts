import type { Random } from './random';

interface Event {
  readonly at: number;
  /** Decides between events of one time. */
  readonly order: number;
  readonly run: () => void;
}

/** The true time of a run, and everything that will happen in it. Nothing else moves time. */
export class Scheduler {
  /** True time, microseconds since the run began. */
  nowUs = 0;
  /** Callbacks that processes ran, and commands that Redis ran. */
  steps = 0;
  private readonly heap: Event[] = [];

  constructor(private readonly random: Random) {}

  /** Calls back at a time, or now if it has passed. Events of one time run in random order. */
  at(us: number, run: () => void): void {
    this.add({ at: Math.max(us, this.nowUs), order: this.random.next(), run });
  }

  /** Calls back after all other events of a time. What only looks changes no order, so a run is the same without it. */
  lookAt(us: number, run: () => void): void {
    this.add({ at: Math.max(us, this.nowUs), order: 1, run });
  }

  private add(event: Event): void {
    const { heap } = this;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent] as Event)) break;
      heap[at] = heap[parent] as Event;
      at = parent;
    }
    heap[at] = event;
  }

  /** Runs everything that happens until a time. @returns false if `mostSteps` ended it */
  run(untilUs: number, mostSteps: number): boolean {
    for (let next = this.heap[0]; next !== undefined && next.at <= untilUs; next = this.heap[0]) {
      if (this.steps >= mostSteps) return false;
      this.pop();
      this.nowUs = next.at;
      next.run();
    }
    this.nowUs = untilUs;
    return true;
  }

  private pop(): void {
    const { heap } = this;
    const last = heap.pop() as Event;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child++;
      if (!isBefore(heap[child] as Event, last)) break;
      heap[at] = heap[child] as Event;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}
