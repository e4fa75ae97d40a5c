import type { BeforeApplicationShutdown } from '@nestjs/common';
import { Claims, type ClaimsOptions } from './once.claims';
import { messageIdOf, peekAt } from './once.peek';
import type { OnceStore } from './once.store';
import type {
  ClaimAnswer,
  ClaimOptions,
  ClaimTerms,
  ConfirmAnswer,
  OnceRun,
  PeekAnswer,
  PeekTarget,
  ReleaseAnswer,
  RenewAnswer,
  RunAnswer,
  RunOptions,
} from './once.types';
import { Runner } from './runs/runner';
import { Runs } from './runs/runs';

/**
 * Lets one of many callers do a piece of work, and remembers that it is done.
 *
 * Exactly once needs the help of the system that receives the work's effect. Pass it the id, so that it can ignore a repeat,
 * or the fence, so that it can refuse an owner whose lease has ended.
 */
export class OnceService implements BeforeApplicationShutdown {
  private readonly claims: Claims;
  private readonly runner: Runner;

  constructor(
    private readonly store: OnceStore,
    private readonly options: ClaimsOptions,
    private readonly runs = new Runs(store, options),
  ) {
    this.claims = new Claims(store, options);
    this.runner = new Runner(this.claims, runs);
  }

  /**
   * Returns the run that the calling code is part of: the work of `run`, an `@Once()` handler, or the handler of an idempotent
   * request and the interceptors between it and `@Idempotent()`. Returns undefined outside of a run, and the innermost of
   * nested runs.
   */
  current(): OnceRun | undefined {
    return this.runs.current();
  }

  /**
   * Claims an id for the time of a lease, unless another owner has the id or the id is done.
   *
   * @throws InvalidOnceInputError before anything is sent; OnceNotReplicatedError with `replicas`
   */
  async claim(id: string, options: ClaimOptions = {}): Promise<ClaimAnswer> {
    const full = this.claims.fill(options);
    return this.claims.take(id, this.store.keyOf(id), full);
  }

  /**
   * Renews an owner's lease: it ends `leaseMs` from now.
   *
   * @param options leaseMs, ms; default: that of the module
   * @throws InvalidOnceInputError before anything is sent
   */
  async renew(id: string, token: string, options: { readonly leaseMs?: number } = {}): Promise<RenewAnswer> {
    return this.store.renew(this.store.keyOf(id), token, options.leaseMs ?? this.options.leaseMs);
  }

  /**
   * Marks an id as done for the retention that it was claimed with. Waits for the `replicas` of the module.
   *
   * @param result returned to later callers; a value that JSON can represent, at most `maxResultBytes` as JSON. Default none
   * @throws OnceResultTooLargeError, InvalidOnceInputError before anything is sent; OnceNotReplicatedError
   */
  async confirm(id: string, token: string, result?: unknown): Promise<ConfirmAnswer> {
    return this.store.confirm(this.store.keyOf(id), token, this.claims.encode(result), this.options);
  }

  /** Releases an id without marking it as done: anyone can claim it again. @throws InvalidOnceInputError before anything is sent */
  async release(id: string, token: string): Promise<ReleaseAnswer> {
    return this.store.release(this.store.keyOf(id), token);
  }

  /**
   * Remembers an id and returns true to the first caller: at most once, in one command, without a lease and without a result.
   * Does not wait for replicas.
   *
   * @param options retentionMs, ms, default: that of the module; a token, with which the first caller gets true again
   * @throws InvalidOnceInputError before anything is sent
   */
  first(id: string, options: Pick<ClaimOptions, 'retentionMs' | 'token'> = {}): Promise<boolean> {
    // Not async: the promise of the registry is returned as it is, since one more for each call would cost throughput.
    try {
      const { token, retentionMs } = options;
      return this.store.first(id, token ?? this.store.newToken(), retentionMs ?? this.options.retentionMs);
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /**
   * Reads the state of an id and changes nothing: it extends no lease and no retention. It does not find ids of `first`.
   *
   * @param target an id; `{ scope, id }` of a message of an `@Once()` handler; `{ subject, key }` of an idempotent request
   * @throws InvalidOnceInputError before anything is sent
   */
  peek(target: string | PeekTarget): Promise<PeekAnswer> {
    return peekAt(this.store, target);
  }

  /**
   * Claims an id, runs the work, renews the lease while the work runs, and confirms the id with the result of the work.
   *
   * If the work throws, or returns a value marked as `UNFINISHED` (such as `retryLater()`), the id is released with
   * `at-least-once`, and done with `at-most-once`. An error of the work is thrown again.
   *
   * @throws InvalidOnceInputError before anything is sent; the error of the work; OnceNotReplicatedError with `replicas`,
   * before the work (`during: 'claim'`) or after it (`during: 'confirm'`)
   */
  async run<T>(
    id: string,
    options: RunOptions,
    work: (run: OnceRun) => T | PromiseLike<T>,
  ): Promise<RunAnswer<Awaited<T>>> {
    return this.runs.track(this.runner.run({ id, key: this.store.keyOf(id), options, body: work }));
  }

  /** Like `run`, for a message of an `@Once()` handler. Its ids do not collide with those of other scopes or of `run`. @internal */
  async runMessage<T>(
    scope: string,
    id: string,
    options: ClaimTerms,
    work: (run: OnceRun) => T | PromiseLike<T>,
  ): Promise<RunAnswer<Awaited<T>>> {
    const key = this.store.keyOf(messageIdOf(scope, id), 'handler');
    return this.runs.track(this.runner.run({ id, key, options, body: work }));
  }

  /** Waits up to `drainMs` for runs, then fires their signals and waits up to `abortGraceMs`. */
  beforeApplicationShutdown(): Promise<void> {
    return this.runs.close();
  }
}
