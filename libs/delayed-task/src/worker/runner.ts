import { isObservable, lastValueFrom } from 'rxjs';
import { encodeJson } from '../queue/record';
import type { Attempt, Attempts } from './attempt';
import type { Capacity } from './capacity';
import type { Handlers } from './handlers';
import type { Settlements } from './settlements';

/** Runs handlers, and makes an outcome of whatever they return, throw or forget. */
export class Runner {
  constructor(
    private readonly handlers: Handlers,
    private readonly attempts: Attempts,
    private readonly capacity: Capacity,
    private readonly settlements: Settlements,
    private readonly maxResultBytes: number,
  ) {}

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
    try {
      this.await(attempt, handler.run(JSON.parse(payload), attempt));
    } catch (error) {
      this.fail(attempt, error);
    }
  }

  /** The attempt failed, unless it has ended before. */
  fail(attempt: Attempt, error: unknown): void {
    if (attempt.ended) return;
    this.end(attempt);
    this.settlements.fail(attempt, error);
  }

  /** Nobody waits for the attempt's handler any more. */
  end(attempt: Attempt): void {
    attempt.ended = true;
    this.capacity.release(1);
  }

  private await(attempt: Attempt, returned: unknown): void {
    if (typeof returned !== 'object' || returned === null) this.succeed(attempt, returned);
    else if (isThenable(returned)) {
      // Once for all: a thenable of its own may call both, and more than once.
      Promise.resolve(returned).then(
        (value) => this.await(attempt, value),
        (error: unknown) => this.fail(attempt, error),
      );
    } else if (isObservable(returned)) this.await(attempt, lastValueFrom(returned, { defaultValue: undefined }));
    else this.succeed(attempt, returned);
  }

  private succeed(attempt: Attempt, value: unknown): void {
    if (attempt.ended) return;
    const { keepResultMs } = attempt.record;
    let result: string | undefined;
    try {
      // What JSON cannot hold is a mistake, also where nobody asked for it to be kept.
      if (value !== undefined) result = encodeJson('result', value, keepResultMs > 0 ? this.maxResultBytes : Infinity);
    } catch (error) {
      this.fail(attempt, error);
      return;
    }
    this.end(attempt);
    this.settlements.succeed(attempt, keepResultMs > 0 ? (result ?? '') : undefined);
  }
}

function isThenable(value: object): value is PromiseLike<unknown> {
  return 'then' in value && typeof value.then === 'function';
}
