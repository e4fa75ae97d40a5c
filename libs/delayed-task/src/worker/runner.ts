import { isObservable, lastValueFrom } from 'rxjs';
import { DeadLetterTaskError, RetryTaskError } from '../delayed-task.errors';
import { encodeJson, encodeNote } from '../queue/task-codec';
import type { Attempt, Attempts } from './running-attempts';
import type { Capacity } from './capacity';
import type { Handlers } from './handler-registry';
import { messageOf, type Settlements } from './settlements';
import type { TaskLog } from './task-log';

/** Runs handlers, and makes an outcome of whatever they return, throw or forget. */
export class Runner {
  private readonly over = new Set<Attempt>();

  constructor(
    private readonly handlers: Handlers,
    private readonly attempts: Attempts,
    private readonly capacity: Capacity,
    private readonly settlements: Settlements,
    private readonly maxResultBytes: number,
    private readonly log: TaskLog,
  ) {}

  /** Attempts that have failed by their time while their handlers run on, each in its slot. */
  get overtime(): ReadonlySet<Attempt> {
    return this.over;
  }

  /** Begins an attempt, for which there is room. */
  begin(attempt: Attempt): void {
    this.attempts.add(attempt);
    const { name, payload } = attempt.record;
    const handler = this.handlers.of(name);
    if (handler === undefined) {
      this.end(attempt);
      this.settlements.handBackUnknown(attempt);
      return;
    }
    attempt.timesOutAt = attempt.startedAt + handler.timeoutMs;
    attempt.running = true;
    try {
      this.await(attempt, handler.run(JSON.parse(payload), attempt));
    } catch (error) {
      this.threw(attempt, error);
    }
  }

  /** Counts the attempt as failed, although its handler still runs; its slot is free when that has ended. */
  giveUp(attempt: Attempt, error: unknown): void {
    if (attempt.running) this.over.add(attempt);
    this.fail(attempt, error);
  }

  private await(attempt: Attempt, returned: unknown): void {
    if (typeof returned !== 'object' || returned === null) this.returned(attempt, returned);
    else if (isThenable(returned)) {
      // Once for all: a thenable of its own may call both, and more than once.
      Promise.resolve(returned).then(
        (value) => {
          try {
            this.await(attempt, value);
          } catch {
            // A proxy that lets nobody look at it. The work is done.
            this.returned(attempt, undefined);
          }
        },
        (error: unknown) => this.threw(attempt, error),
      );
    } else if (isObservable(returned)) this.await(attempt, lastValueFrom(returned, { defaultValue: undefined }));
    else this.returned(attempt, returned);
  }

  private returned(attempt: Attempt, value: unknown): void {
    this.stopped(attempt);
    if (isOutcome(value)) this.fail(attempt, value);
    else this.succeed(attempt, value);
  }

  private threw(attempt: Attempt, thrown: unknown): void {
    this.stopped(attempt);
    const error = readable(thrown);
    // What follows from the signal is told as what it is: a timeout.
    this.fail(attempt, isOutcome(error) ? error : (attempt.timeout ?? error));
  }

  /** The handler has ended, in time or long after. */
  private stopped(attempt: Attempt): void {
    attempt.running = false;
    if (this.over.delete(attempt)) this.capacity.release(1);
  }

  private succeed(attempt: Attempt, value: unknown): void {
    if (attempt.ended) return;
    this.end(attempt);
    this.settlements.succeed(attempt, attempt.record.keepResultMs > 0 ? this.resultOf(attempt, value) : undefined);
  }

  /** What is kept of a result. One that cannot be kept is no reason to do the work again. */
  private resultOf(attempt: Attempt, value: unknown): string {
    if (value === undefined) return '';
    try {
      return encodeJson('result', value, this.maxResultBytes);
    } catch (error) {
      this.log.resultLost(attempt, error);
      return encodeNote(messageOf(error));
    }
  }

  private fail(attempt: Attempt, error: unknown): void {
    if (attempt.ended) return;
    this.end(attempt);
    this.settlements.fail(attempt, error);
  }

  /** Nobody waits for the outcome of the attempt's handler any more. */
  private end(attempt: Attempt): void {
    attempt.ended = true;
    if (!this.over.has(attempt)) this.capacity.release(1);
  }
}

function isThenable(value: object): value is PromiseLike<unknown> {
  return 'then' in value && typeof value.then === 'function';
}

/** What was thrown, unless it is an object that throws at whoever asks what it is, such as a proxy. */
function readable(thrown: unknown): unknown {
  try {
    void (thrown instanceof Error);
    return thrown;
  } catch {
    return new Error('The handler threw something that cannot be shown.');
  }
}

function isOutcome(value: unknown): boolean {
  return value instanceof RetryTaskError || value instanceof DeadLetterTaskError;
}
