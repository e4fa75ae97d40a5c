import { unlimitedListeners, time } from '../../../internal/src';
import type { TaskContext } from '../delayed-task.types';
import type { Partition } from '../queue/partitions';
import type { TaskRecord } from '../queue/task-codec';

interface AttemptStart {
  readonly id: string;
  readonly attempt: number;
  readonly runAtMs: number;
  readonly lateMs: number;
  readonly token: string;
  readonly partition: Partition;
  readonly record: TaskRecord;
  /** When the lease ends, by `time.monotonicMs()`. */
  readonly leaseEndsAt: number;
}

/** One attempt of a task that this worker took. */
export class Attempt implements TaskContext {
  readonly id: string;
  readonly attempt: number;
  readonly runAtMs: number;
  readonly lateMs: number;
  readonly startedAt = time.monotonicMs();
  /** True once the outcome is decided or the task is handed back. What the handler does after this has no effect on the task. */
  ended = false;
  renewing = false;
  running = false;
  lost = false;
  /** Index in the list of `Attempts`; -1 if not in it. */
  index = -1;
  leaseEndsAt: number;
  /** When `timeoutMs` is over, by `time.monotonicMs()`. Once the attempt has timed out: when `abortGraceMs` is over. */
  timesOutAt = Infinity;
  /** Error of the timeout; undefined before the timeout. The handler may still end within `abortGraceMs`. */
  timeout: Error | undefined;
  private readonly start: AttemptStart;
  private controller: AbortController | undefined;
  private reason: Error | undefined;

  constructor(start: AttemptStart) {
    this.id = start.id;
    this.attempt = start.attempt;
    this.runAtMs = start.runAtMs;
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

  // The AbortController is made at the first use, because most handlers never use it.
  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      unlimitedListeners(this.controller.signal);
      if (this.reason) this.controller.abort(this.reason);
    }
    return this.controller.signal;
  }

  abort(reason: Error): void {
    if (this.reason) return;
    this.reason = reason;
    this.controller?.abort(reason);
  }
}

/** The attempts in flight. Adding and removing are O(1) without a hash table. */
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
    attempt.index = this.list.length;
    this.list.push(attempt);
  }

  remove(attempt: Attempt): void {
    const { index } = attempt;
    if (index < 0) return;
    attempt.index = -1;
    const last = this.list.pop() as Attempt;
    if (last !== attempt) {
      this.list[index] = last;
      last.index = index;
    }
    if (this.list.length === 0) for (const resolve of this.idle.splice(0)) resolve();
  }

  async untilIdle(): Promise<void> {
    if (this.list.length > 0) await new Promise<void>((resolve) => this.idle.push(resolve));
  }
}

/** Returns attempts in the form that the scripts read: id and token of the first, id and token of the second, and so on. */
export function pairsOf(attempts: readonly Attempt[]): string[] {
  return attempts.flatMap(({ id, token }) => [id, token]);
}
