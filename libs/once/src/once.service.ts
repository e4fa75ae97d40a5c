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
 * Lets one of many callers do a piece of work, and remembers that the work is done. An id names the work.
 *
 * After a crash, Redis alone cannot ensure that work runs exactly once. The system that receives the effect of the work must
 * help: pass the id to that system, so that it can ignore a repeat, or the fence, so that it can refuse an earlier owner.
 */
export class OnceService implements OnModuleDestroy, BeforeApplicationShutdown {
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
   * Returns the run that the calling code is part of. Such code is the work of `run` and a method with `@Once()`. Inside nested
   * runs, returns the innermost run. Outside of a run, returns undefined. The handler of a route with `@Idempotent()` uses
   * `@CurrentOnceRun()`.
   */
  current(): OnceRun | undefined {
    return this.runs.current();
  }

  /**
   * Claims a request, as IdempotencyInterceptor does for a route with `@Idempotent()`. Its result is a StoredResponse. Throws as
   * the call with an id does.
   */
  claim(target: RequestTarget, options?: RunOptions): Promise<ClaimResult | Mismatch>;
  /**
   * Claims an id for the time of a lease, unless another owner has the id or the id is done. Nothing renews the lease
   * automatically.
   *
   * If it is unknown whether Redis made a claim without `token`, the call rejects, and tries to release the claim.
   *
   * @param target an id of the app's own, or a message with `@Once()`
   * @throws InvalidInputError, InvalidOptionError for an invalid argument, before anything is sent; NotReplicatedError
   * with `replicas`; the errors of ScriptRegistry.run()
   */
  claim(target: string | MessageTarget, options?: RunOptions): Promise<ClaimResult>;
  // An `async` method would cost one promise more per call. An invalid call rejects here, too.
  claim(target: string | OnceTarget, options: RunOptions = {}): Promise<ClaimResult | Mismatch> {
    try {
      const located = locate(this.store, target);
      return this.claims.take(located, this.claims.fill(options, located.fingerprint), options.token === undefined);
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /**
   * Renews the lease of an owner, so that the lease ends `leaseMs` from now. Returns `lost` if the caller does not own the id.
   * Waits for the `replicas` of the module. If too few have the renewal, do not count on it: a failover may lose it.
   *
   * @param options leaseMs, ms, integer from 10 ms to 10 years; default: `leaseMs` of the module
   * @throws InvalidInputError before anything is sent; NotReplicatedError; the errors of ScriptRegistry.run()
   */
  async renew(id: string, token: string, options: { readonly leaseMs?: number } = {}): Promise<RenewResult> {
    return this.store.renew(this.store.keyOf(id), token, options.leaseMs ?? this.options.leaseMs, this.options);
  }

  /**
   * Marks an id as done, from now on for the `retentionMs` of its claim. Returns `lost` if the caller does not own the id.
   * Waits for the `replicas` of the module.
   *
   * @param result result for later callers; a value that JSON can represent, at most `maxResultBytes` as JSON. Default: no result
   * @throws InvalidInputError before anything is sent; NotReplicatedError; the errors of
   * ScriptRegistry.run()
   */
  async confirm(id: string, token: string, result?: unknown): Promise<ConfirmResult> {
    return this.store.confirm(this.store.keyOf(id), token, this.claims.encode(result), this.options);
  }

  /**
   * Releases an id without marking it as done, so that the next claim gets the id. Returns `lost` if the caller does not own
   * it.
   *
   * @throws InvalidInputError before anything is sent; the errors of ScriptRegistry.run()
   */
  async release(id: string, token: string): Promise<ReleaseResult> {
    return this.store.release(this.store.keyOf(id), token);
  }

  /**
   * Remembers an id for `retentionMs`. Returns true to the first caller, and false to each later caller. This is one command
   * without a lease and without a result, and it does not wait for replicas: if the first caller crashes, nobody repeats its
   * work.
   *
   * @param options `retentionMs`, ms, integer from 1 to 10 years, default: `retentionMs` of the module; `token`, with which the
   * first caller gets true again
   * @throws InvalidInputError before anything is sent; the errors of ScriptRegistry.run()
   *
   * @example
   * ```ts
   * if (await once.first(`mail-${orderId}`)) await sendMail(orderId);
   * ```
   */
  first(id: string, options: Pick<RunOptions, 'retentionMs' | 'token'> = {}): Promise<boolean> {
    // An `async` method would make one more promise per call, which costs throughput. So this returns the promise of the store.
    try {
      const { token, retentionMs } = options;
      return this.store.first(id, token ?? this.store.newToken(), retentionMs ?? this.options.retentionMs);
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /**
   * Reads the state of an id and changes nothing, also no lease and no retention. `peek` does not find ids of `first`.
   *
   * @param target an id of `run` or `claim`, a message with `@Once()`, or a request with `@Idempotent()`
   * @throws InvalidInputError before anything is sent; the errors of ScriptRegistry.run()
   */
  peek(target: string | OnceTarget): Promise<PeekResult> {
    return peekAt(this.store, target);
  }

  /**
   * Claims an id, runs the work, renews the lease while the work runs, and confirms the id with the result of the work. If the
   * id is done or another owner has it, the work does not run.
   *
   * If the work throws, or returns `retryLater()` or `deadLetter()`, the work is not finished. Then the id is released with
   * the delivery `at-least-once`, and marked as done with `at-most-once`. A method with `@Once()` calls it with its message.
   *
   * @param target an id of the app's own, or a message with `@Once()`
   * @throws InvalidInputError, InvalidOptionError before anything is sent; the error that the work throws;
   * NotReplicatedError with `replicas`, before the work (`during: 'claim'`) or after it (`during: 'confirm'`); the errors
   * of ScriptRegistry.run(), before or after the work
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
    // Not `async`, as in `first`: it would make one more promise per call.
    try {
      if (typeof work !== 'function')
        throw new InvalidInputError(`OnceService.run: work is ${shown(work)}. Expected a function.`);
      return this.runner.run({ located: locate(this.store, target), options, body: work });
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** For `luanest/console`. */
  [CONSOLE](): OnceConsole {
    return this.store.console();
  }

  /** Notes when the shutdown began. */
  onModuleDestroy(): void {
    this.runs.beginClose();
  }

  /**
   * Waits up to `drainMs` for the runs, and until workers and consumers have ended their work. Then fires the signals of the runs that
   * are left, and waits up to `abortGraceMs`.
   */
  beforeApplicationShutdown(): Promise<void> {
    return this.runs.close();
  }
}
