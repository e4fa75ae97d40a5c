import { LostError, type LossCause } from '../../../internal/src';
import { Attempt, type ResolvedBackoff } from '../../../worker/src';
import type { TaskContext } from '../delayed-task.types';
import type { Partition } from '../queue/partitions';
import type { TaskRecord } from '../queue/task-codec';
import type { Handler } from './handler-registry';

interface AttemptStart {
  readonly id: string;
  readonly attempt: number;
  readonly runAtMs: number;
  readonly lateMs: number;
  readonly token: string;
  readonly partition: Partition;
  readonly record: TaskRecord;
  /** When the take was first sent, by `time.monotonicMs()`. */
  readonly sentAt: number;
  readonly leaseMs: number;
}

/** One attempt of a task that this worker took, as its handler gets it. */
export class TaskAttempt extends Attempt implements TaskContext {
  readonly id: string;
  readonly attempt: number;
  readonly runAtMs: number;
  readonly lateMs: number;
  handler: Handler | undefined;
  private readonly start: AttemptStart;

  constructor(start: AttemptStart) {
    super(start.sentAt, start.leaseMs);
    this.id = start.id;
    this.attempt = start.attempt;
    this.runAtMs = start.runAtMs;
    this.lateMs = start.lateMs;
    this.start = start;
  }

  lossOf(cause: LossCause): LostError {
    return new LostError(
      cause === 'time'
        ? 'The lease has ended. Another worker may have the task.'
        : 'The lease is gone, for example because the task was taken over, cancelled or replaced, or Redis lost it.',
    );
  }

  get name(): string {
    return this.start.record.name;
  }

  get label(): string {
    return this.name;
  }

  get attempts(): number {
    return this.start.record.attempts;
  }

  get backoff(): ResolvedBackoff {
    return this.start.record.backoff;
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
}

/** Returns attempts in the form that the scripts read: id and token of the first, id and token of the second, and so on. */
export function pairsOf(attempts: readonly TaskAttempt[]): string[] {
  return attempts.flatMap(({ id, token }) => [id, token]);
}
