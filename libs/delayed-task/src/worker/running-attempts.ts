import type { TaskContext } from '../delayed-task.types';
import type { Partition } from '../queue/partitions';
import type { TaskRecord } from '../queue/task-codec';

/** What a task was taken with. */
interface AttemptStart {
  readonly id: string;
  readonly attempt: number;
  readonly runAt: number;
  readonly lateMs: number;
  readonly token: string;
  readonly partition: Partition;
  readonly record: TaskRecord;
  /** By `performance.now()`. */
  readonly leaseEndsAt: number;
}

/** One attempt at a task, from the take to what Redis was told of it. */
export class Attempt implements TaskContext {
  readonly id: string;
  readonly attempt: number;
  readonly runAt: number;
  readonly lateMs: number;
  readonly startedAt = performance.now();
  /** Until it has ended its handler's outcome is awaited. */
  ended = false;
  renewing = false;
  /** Its handler has begun and not ended. */
  running = false;
  /** Another has the task, or it is gone. */
  lost = false;
  /** Place among those under way; see `Attempts`. */
  place = -1;
  leaseEndsAt: number;
  /** When its time is over; once it is, when it is given up. */
  timesOutAt = Infinity;
  /** Its time was over; the handler may still end. */
  timeout: Error | undefined;
  private readonly start: AttemptStart;
  private controller: AbortController | undefined;
  private reason: Error | undefined;

  constructor(start: AttemptStart) {
    this.id = start.id;
    this.attempt = start.attempt;
    this.runAt = start.runAt;
    this.lateMs = start.lateMs;
    this.leaseEndsAt = start.leaseEndsAt;
    this.start = start;
  }

  get name(): string {
    return this.start.record.name;
  }

  get attempts(): number {
    return this.start.record.attempts;
  }

  get token(): string {
    return this.start.token;
  }

  get partition(): Partition {
    return this.start.partition;
  }

  get record(): TaskRecord {
    return this.start.record;
  }

  // Made when it is asked for: most handlers never do, and a controller costs more than the rest of an attempt.
  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.reason) this.controller.abort(this.reason);
    }
    return this.controller.signal;
  }

  /** Fires the signal, once. */
  abort(reason: Error): void {
    if (this.reason) return;
    this.reason = reason;
    this.controller?.abort(reason);
  }
}

/** Attempts under way: added, removed and walked through without a hash table. */
export class Attempts {
  private readonly list: Attempt[] = [];
  private idle: (() => void)[] = [];

  get size(): number {
    return this.list.length;
  }

  get all(): readonly Attempt[] {
    return this.list;
  }

  add(attempt: Attempt): void {
    attempt.place = this.list.length;
    this.list.push(attempt);
  }

  remove(attempt: Attempt): void {
    const { place } = attempt;
    if (place < 0) return;
    attempt.place = -1;
    const last = this.list.pop() as Attempt;
    if (last !== attempt) {
      this.list[place] = last;
      last.place = place;
    }
    if (this.list.length === 0) for (const tell of this.idle.splice(0)) tell();
  }

  /** Resolves when none is left. */
  async untilIdle(): Promise<void> {
    if (this.list.length > 0) await new Promise<void>((resolve) => this.idle.push(resolve));
  }
}
