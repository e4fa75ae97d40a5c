import { isObservable, lastValueFrom } from 'rxjs';
import { unfinishedOutcome } from '../../../internal/src';
import { encodeJson, encodeNote } from '../queue/task-codec';
import { failureOf, messageOf } from './attempt-failure';
import type { Attempt, Attempts } from './running-attempts';
import type { Capacity } from './capacity';
import type { Handlers } from './handler-registry';
import type { Settlements } from './settlements';
import type { TaskLog } from './task-log';

/** Runs handlers, and settles their attempts with what the handlers return or throw, or with a timeout. */
export class Runner {
  private readonly overtimeAttempts = new Set<Attempt>();

  constructor(
    private readonly handlers: Handlers,
    private readonly attempts: Attempts,
    private readonly capacity: Capacity,
    private readonly settlements: Settlements,
    private readonly maxResultBytes: number,
    private readonly log: TaskLog,
  ) {}

  /** Attempts whose outcome is a timeout, and whose handlers still run. Each keeps its slot. */
  get overtime(): ReadonlySet<Attempt> {
    return this.overtimeAttempts;
  }

  /** Begins an attempt. The caller has reserved a slot for it. */
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
      this.follow(attempt, handler.run(JSON.parse(payload), attempt));
    } catch (error) {
      this.threw(attempt, error);
    }
  }

  /** Settles an attempt as failed although its handler may still run. The slot is free when the handler has ended. */
  giveUp(attempt: Attempt, error: unknown): void {
    if (attempt.running) this.overtimeAttempts.add(attempt);
    this.fail(attempt, error);
  }

  private follow(attempt: Attempt, returned: unknown): void {
    if (typeof returned !== 'object' || returned === null) this.returned(attempt, returned);
    else if (isThenable(returned)) {
      // A thenable may call both callbacks, and several times. `Promise.resolve` makes a promise of it that settles once.
      Promise.resolve(returned).then(
        (value) => {
          try {
            this.follow(attempt, value);
          } catch {
            // The value throws when its type is read, as a Proxy can. The handler has succeeded.
            this.returned(attempt, undefined);
          }
        },
        (error: unknown) => this.threw(attempt, error),
      );
    } else if (isObservable(returned)) this.follow(attempt, lastValueFrom(returned, { defaultValue: undefined }));
    else this.returned(attempt, returned);
  }

  private returned(attempt: Attempt, value: unknown): void {
    this.stopped(attempt);
    if (unfinishedOutcome(value)) this.fail(attempt, value);
    else this.succeed(attempt, value);
  }

  private threw(attempt: Attempt, thrown: unknown): void {
    this.stopped(attempt);
    const error = readable(thrown);
    // After a timeout, the handler probably throws because its signal fired. So the error of the attempt is the timeout.
    this.fail(attempt, unfinishedOutcome(error) ?? attempt.timeout ?? error);
  }

  /** Notes that the handler has ended, which may be after its attempt was settled. */
  private stopped(attempt: Attempt): void {
    attempt.running = false;
    if (this.overtimeAttempts.delete(attempt)) this.capacity.release(1);
  }

  private succeed(attempt: Attempt, value: unknown): void {
    if (attempt.ended) return;
    this.end(attempt);
    this.settlements.succeed(attempt, attempt.record.keepResultMs > 0 ? this.resultOf(attempt, value) : undefined);
  }

  /** Returns the text that is stored for a result. If the result cannot be stored, the text is a note that says why. */
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
    this.settlements.fail(attempt, failureOf(error));
  }

  private end(attempt: Attempt): void {
    attempt.ended = true;
    if (!this.overtimeAttempts.has(attempt)) this.capacity.release(1);
  }
}

function isThenable(value: object): value is PromiseLike<unknown> {
  return 'then' in value && typeof value.then === 'function';
}

/** Returns what was thrown. If its type cannot be read, because it is a Proxy that throws, returns another error. */
function readable(thrown: unknown): unknown {
  try {
    void (thrown instanceof Error);
    return thrown;
  } catch {
    return new Error('The handler threw something that cannot be shown.');
  }
}
