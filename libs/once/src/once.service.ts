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
 * Lets one of many callers do a thing, and remembers that it was done.
 *
 * Nothing is exactly once without the receiver's help: hand it the id, so that it knows a repeat, or the fence.
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
   * Returns the run that this code belongs to: work under `run`, an `@Once()` handler, or the handler of an idempotent request
   * and the interceptors inside. Undefined outside of one. Of nested runs the innermost.
   */
  current(): OnceRun | undefined {
    return this.runs.current();
  }

  /**
   * Takes an id for a lease, unless another has it or it is done.
   *
   * @throws InvalidOnceInputError before anything is sent; OnceNotReplicatedError with `replicas`
   */
  async claim(id: string, options: ClaimOptions = {}): Promise<ClaimAnswer> {
    const full = this.claims.fill(options);
    return this.claims.take(id, this.store.keyOf(id), full);
  }

  /**
   * Renews an owner's lease: it lasts `leaseMs` from now.
   *
   * @param options leaseMs; default the module's
   * @throws InvalidOnceInputError before anything is sent
   */
  async renew(id: string, token: string, options: { readonly leaseMs?: number } = {}): Promise<RenewAnswer> {
    return this.store.renew(this.store.keyOf(id), token, options.leaseMs ?? this.options.leaseMs);
  }

  /**
   * Marks an id as done, for the retention that it was claimed with. Waits for the module's `replicas`.
   *
   * @param result JSON data for those who ask again; at most `maxResultBytes`. Default none
   * @throws OnceResultTooLargeError, InvalidOnceInputError before anything is sent; OnceNotReplicatedError
   */
  async confirm(id: string, token: string, result?: unknown): Promise<ConfirmAnswer> {
    return this.store.confirm(this.store.keyOf(id), token, this.claims.encode(result), this.options);
  }

  /** Gives an id back, undone, for anybody to claim. @throws InvalidOnceInputError before anything is sent */
  async release(id: string, token: string): Promise<ReleaseAnswer> {
    return this.store.release(this.store.keyOf(id), token);
  }

  /**
   * Remembers an id and returns true to the first call: at most once, in one command, with no lease and no result. Does not wait
   * for replicas.
   *
   * @param options retentionMs, default the module's; a token, with which a repeat of the first call gets true again
   * @throws InvalidOnceInputError before anything is sent
   */
  first(id: string, options: Pick<ClaimOptions, 'retentionMs' | 'token'> = {}): Promise<boolean> {
    // One promise a call, the registry's: another for each level shows at this rate.
    try {
      const { token, retentionMs } = options;
      return this.store.first(id, token ?? this.store.newToken(), retentionMs ?? this.options.retentionMs);
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /**
   * Reads what is known of an id, and changes nothing: no lease and no retention gets longer. Ids of `first` are not known to it.
   *
   * @param target an id; `{ scope, id }` of a message under `@Once()`; `{ subject, key }` of an idempotent request
   * @throws InvalidOnceInputError before anything is sent
   */
  peek(target: string | PeekTarget): Promise<PeekAnswer> {
    return peekAt(this.store, target);
  }

  /**
   * Runs work under a claim that is renewed until it ends, and confirms what it returns.
   *
   * Work that throws, or resolves with what says that it is not done (`UNFINISHED`), leaves the id free with
   * `at-least-once`, and done with `at-most-once`; the error is thrown on.
   *
   * @throws InvalidOnceInputError before anything is sent; what the work throws; OnceNotReplicatedError with `replicas`,
   * before the work or after it, as its `during` says
   */
  async run<T>(
    id: string,
    options: RunOptions,
    work: (run: OnceRun) => T | PromiseLike<T>,
  ): Promise<RunAnswer<Awaited<T>>> {
    return this.runs.track(this.runner.run({ id, key: this.store.keyOf(id), options, body: work }));
  }

  /** As `run`, for a message of an `@Once()` handler. Handlers of other scopes, and ids of `run`, do not meet it. */
  async runMessage<T>(
    scope: string,
    id: string,
    options: ClaimTerms,
    work: (run: OnceRun) => T | PromiseLike<T>,
  ): Promise<RunAnswer<Awaited<T>>> {
    const key = this.store.keyOf(messageIdOf(scope, id), 'handler');
    return this.runs.track(this.runner.run({ id, key, options, body: work }));
  }

  /** Waits for runs up to `drainMs`, then fires their signals and waits up to `abortGraceMs`. */
  beforeApplicationShutdown(): Promise<void> {
    return this.runs.close();
  }
}
