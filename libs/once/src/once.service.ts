import type { BeforeApplicationShutdown, OnModuleDestroy } from '@nestjs/common';
import { CONSOLE, InvalidInputError, shown } from '../../internal/src';
import { Claims, peekAt, type ClaimsOptions } from './once.claims';
import type { OnceConsole } from './once.console';
import type { OnceStore } from './once.store';
import { locate } from './once.targets';
import type {
  ClaimResult,
  ConfirmResult,
  MessageTarget,
  Mismatch,
  OnceRun,
  OnceTarget,
  PeekResult,
  ReleaseResult,
  RenewResult,
  RequestTarget,
  RunResult,
  RunOptions,
} from './once.types';
import { Runner, Runs } from './runs/runs';

/**
 * Lets only one of many callers do a piece of work, and remembers that the work is done. The app chooses an id for each piece of work.
 *
 * After a crash, Redis alone cannot ensure that work runs exactly once. The system that the work changes must help: pass it the id, so that
 * it can ignore repeated work, or the fence (a number that rises with each claim), so that it can refuse an earlier owner.
 */
export class OnceService implements OnModuleDestroy, BeforeApplicationShutdown {
  /** Name of this class for `luanest/console`. A bundler may shorten the name of the class itself. */
  static readonly [CONSOLE] = 'OnceService';

  private readonly claims: Claims;
  private readonly runner: Runner;

  constructor(
    private readonly store: OnceStore,
    private readonly options: ClaimsOptions,
    private readonly runs = new Runs(options),
  ) {
    this.claims = new Claims(store, options);
    this.runner = new Runner(this.claims, runs);
  }

  /**
   * Returns the run that the calling code belongs to: inside work that was passed to `run`, and inside a method with `@Once()`. Of nested
   * runs, returns the innermost. Returns undefined outside of a run. In a route with `@Idempotent()`, use `@CurrentOnceRun()` instead.
   */
  current(): OnceRun | undefined {
    return this.runs.current();
  }

  /**
   * Claims an HTTP request, as IdempotencyInterceptor does for a route with `@Idempotent()`. The result of a request is a
   * StoredResponse. Throws the same errors as the call with an id.
   */
  claim(target: RequestTarget, options?: RunOptions): Promise<ClaimResult | Mismatch>;
  /**
   * Claims an id for the time of a lease, unless another owner has the id or the id is done. The lease is not renewed
   * automatically: call `renew`, or use `run`.
   *
   * If Redis does not reply in time, it is unknown if the claim was made. The call rejects then. If `token` was not passed, the
   * call also tries to release the claim.
   *
   * @param target an id that the app has chosen, or a message of a handler with `@Once()`
   * @throws InvalidInputError, InvalidOptionError for an invalid argument, before anything is sent; NotReplicatedError with
   * `replicas`; the errors of ScriptRegistry.run()
   */
  claim(target: string | MessageTarget, options?: RunOptions): Promise<ClaimResult>;
  // An async method would create one more promise per call. For an invalid argument, the returned promise still rejects.
  claim(target: string | OnceTarget, options: RunOptions = {}): Promise<ClaimResult | Mismatch> {
    try {
      const located = locate(this.store, target);
      return this.claims.take(located, this.claims.fill(options, located.fingerprint), options.token === undefined);
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /**
   * Renews the lease of an owner, so that the lease ends `leaseMs` from now. Returns `lost` if the caller does not own the id. Waits for
   * the `replicas` of the module. If too few of them have the renewal, the call rejects, and a failover may lose the renewal.
   *
   * @param options leaseMs, ms, integer from 10 ms to 10 years; default: `leaseMs` of the module
   * @throws InvalidInputError before anything is sent; NotReplicatedError; the errors of ScriptRegistry.run()
   */
  async renew(id: string, token: string, options: { readonly leaseMs?: number } = {}): Promise<RenewResult> {
    return this.store.renew(this.store.keyOf(id), token, options.leaseMs ?? this.options.leaseMs, this.options);
  }

  /**
   * Marks an id as done. Redis then remembers the id for the `retentionMs` of its claim, counted from now. Returns `lost` if the
   * caller does not own the id. Waits for the `replicas` of the module.
   *
   * @param result result for later callers; a value that JSON can represent, at most `maxResultBytes` as JSON. Default: no result
   * @throws InvalidInputError before anything is sent; NotReplicatedError; the errors of ScriptRegistry.run()
   */
  async confirm(id: string, token: string, result?: unknown): Promise<ConfirmResult> {
    return this.store.confirm(this.store.keyOf(id), token, this.claims.encode(result), this.options);
  }

  /**
   * Frees an id without marking it as done, so that another caller can claim it. Returns `lost` if the caller does not own the id.
   *
   * @throws InvalidInputError before anything is sent; the errors of ScriptRegistry.run()
   */
  async release(id: string, token: string): Promise<ReleaseResult> {
    return this.store.release(this.store.keyOf(id), token);
  }

  /**
   * Remembers an id for `retentionMs`. Returns true to the first caller, and false to each later caller. There is no lease: if
   * the first caller crashes, nobody repeats its work. The call stores no result, and does not wait for replicas. It needs only
   * one command.
   *
   * @param options `retentionMs`, ms, integer from 1 to 10 years, default: `retentionMs` of the module; `token`: if the
   * first caller repeats the call with the same token, it gets true again
   * @throws InvalidInputError before anything is sent; the errors of ScriptRegistry.run()
   *
   * @example
   * ```ts
   * if (await once.first(`mail-${orderId}`)) await sendMail(orderId);
   * ```
   */
  first(id: string, options: Pick<RunOptions, 'retentionMs' | 'token'> = {}): Promise<boolean> {
    // An async method would create one more promise per call, which costs throughput.
    try {
      const { token, retentionMs } = options;
      return this.store.first(id, token ?? this.store.newToken(), retentionMs ?? this.options.retentionMs);
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /**
   * Returns the state of an id, without changing its lease or retention. Does not know ids that were passed to `first`.
   *
   * @param target an id that was passed to `run` or `claim`, a message of a handler with `@Once()`, or a request to a route with
   *   `@Idempotent()`
   * @throws InvalidInputError before anything is sent; the errors of ScriptRegistry.run()
   */
  peek(target: string | OnceTarget): Promise<PeekResult> {
    return peekAt(this.store, target);
  }

  /**
   * Claims an id, runs the work, renews the lease while the work runs, and confirms the id with the result of the work. If the id
   * is done or another owner has it, the work does not run.
   *
   * If the work throws, or returns `retryLater()` or `deadLetter()`, the work is not finished. Then the id is released if the
   * delivery is `at-least-once`, and marked as done if it is `at-most-once`. A method with `@Once()` calls `run` with its
   * message.
   *
   * @param target an id that the app has chosen, or a message of a handler with `@Once()`
   * @throws InvalidInputError, InvalidOptionError before anything is sent; the error that the work throws; NotReplicatedError
   * with `replicas`, before the work (`during: 'claim'`) or after it (`during: 'confirm'`); the errors of ScriptRegistry.run(),
   * before or after the work
   *
   * @example
   * ```ts
   * const outcome = await once.run(`payment-${paymentId}`, {}, () => pay(paymentId));
   * if (outcome.status === 'in-progress') return; // another process pays now
   * ```
   */
  run<T>(
    target: string | MessageTarget,
    options: RunOptions,
    work: (run: OnceRun) => T | PromiseLike<T>,
  ): Promise<RunResult<Awaited<T>>> {
    // Not async, for the same reason as in `first`.
    try {
      if (typeof work !== 'function')
        throw new InvalidInputError(`OnceService.run: work is ${shown(work)}. Expected a function.`);
      return this.runner.run({ located: locate(this.store, target), options, body: work });
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Returns functions for `luanest/console`. */
  [CONSOLE](): OnceConsole {
    return this.store.console();
  }

  /** Notes that the shutdown has begun: `drainMs` is counted from now. */
  onModuleDestroy(): void {
    this.runs.beginClose();
  }

  /**
   * Waits up to `drainMs` until all runs have ended. Also waits for the handlers of workers and consumers of other luanest modules, which
   * have time limits of their own. Then aborts the AbortSignals of the remaining runs, and waits up to `abortGraceMs` for them.
   */
  beforeApplicationShutdown(): Promise<void> {
    return this.runs.close();
  }
}
