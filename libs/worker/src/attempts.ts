import { isObservable, lastValueFrom, type Observable } from 'rxjs';
import {
  ClosedError,
  endsWithin,
  Lease,
  LeaseBook,
  Retries,
  type LeaseOwner,
  type LostError,
  type ResolvedShutdown,
  time,
  TimeoutError,
  type Timer,
  unfinishedOutcome,
} from '../../internal/src';
import type { ResolvedBackoff } from './backoff';
import { Capacity } from './capacity';
import { type Failure, failureOf, readable } from './failure';
import type { WorkLog } from './work-log';

/** Pause between two log lines about handlers that still run after their timeout, ms. */
const OVERTIME_AGAIN_MS = 60_000;
/**
 * At a shutdown, the worker gives unfinished tasks back to Redis. It waits this long for those replies, and then as long again for the
 * replies to its other calls, ms.
 */
const LAST_ANSWERS_MS = 2_000;

/**
 * Makes a worker's calls to Redis, and repeats each call until it succeeds. A shutdown can wait for these calls, and for other promises
 * that `track` got.
 */
export class Calls<During extends string> extends Retries<During> {
  /** True once the app shuts down. The worker then takes no new tasks or messages. */
  closing = false;
  private isStopped = false;
  private readonly inFlight = new Set<Promise<unknown>>();

  /** @param reportError function that gets the error of each failed call. `during` names the purpose of the call */
  constructor(readonly reportError: (during: During, error: unknown) => void) {
    super(reportError);
  }

  get stopped(): boolean {
    return this.isStopped;
  }

  /** Makes failed calls end instead of being repeated. */
  stop(): void {
    this.isStopped = true;
    this.close();
  }

  /** Makes `settled()` also wait until the promise `work` has ended. */
  track(work: Promise<unknown>): void {
    this.inFlight.add(work);
    const forget = (): void => void this.inFlight.delete(work);
    work.then(forget, forget);
  }

  /** Resolves when no call to Redis is in flight, and every promise that `track` got has ended. */
  override async settled(): Promise<void> {
    while (this.size > 0 || this.inFlight.size > 0) {
      await super.settled();
      await Promise.allSettled(this.inFlight);
    }
  }

  /**
   * Repeats a call to Redis until it succeeds or the worker has stopped. Use it only for scripts that have no further effect when they run
   * twice.
   *
   * @returns undefined if the worker stopped first
   */
  untilAnswered<T>(during: During, call: () => Promise<T>): Promise<T | undefined> {
    return this.run(during, () => this.isStopped, call);
  }
}

interface Timeouts {
  timeOut(attempt: Attempt, now: number): void;
}

/**
 * One try to handle a task or a message: one run of the app's handler. The object is also this process's view of the lease of the task: if
 * the lease is lost, the AbortSignal of the handler is aborted.
 */
export abstract class Attempt extends Lease {
  readonly startedAt = time.monotonicMs();
  /**
   * True once the result of this attempt is fixed: success, failure, timeout, or given back to Redis. A value that the handler returns or
   * throws later is ignored.
   */
  decided = false;
  /** True while the handler runs. A handler may still run after its attempt was counted as failed, for example after a timeout. */
  running = false;
  /**
   * True if another process took over the task while this handler was running. This process then reports no result to Redis, but a shutdown
   * still waits for the handler.
   */
  orphaned = false;
  /** The TimeoutError once the handler has exceeded `timeoutMs`; undefined before. */
  timeout: Error | undefined;
  /** Object to notify when `timeoutMs` is over. Undefined until the handler starts. */
  timeouts: Timeouts | undefined;

  /** Number of this attempt, from 1. */
  abstract get attempt(): number;
  /** Maximum number of attempts of the task or message. */
  abstract get attempts(): number;
  abstract get backoff(): ResolvedBackoff;
  /** Name of the task or message for errors and logs, such as `message 0:1-0`. */
  abstract get label(): string;

  override alarm(now: number): void {
    this.timeouts?.timeOut(this, now);
  }

  override lose(error: LostError): void {
    if (!this.decided) return super.lose(error);
    // The result of the handler is on its way to Redis. A missing lease may only mean that Redis has stored the result and removed the
    // lease, so this is not a loss yet.
    this.renewAt = time.monotonicMs() + this.leaseMs / 3;
  }

  /**
   * By the clock of this process, the lease has ended. Redis may still have the lease, because its clock differs, so the handler is only
   * asked to stop, and the renewals go on.
   */
  protected override lapse(error: LostError): void {
    this.abort(error);
  }
}

/**
 * Functions that a lib, such as stream-consumer, provides to run handlers: one calls a handler, the others store its result in Redis. Only
 * `call` may throw.
 */
export interface Work<A extends Attempt> {
  /** Calls the app's handler. The handler may return a value, a promise, a thenable or an Observable. */
  call(attempt: A): unknown;
  /** Stores in Redis that the handler succeeded. Calls `Attempts.forget` after the reply. */
  succeed(attempt: A, value: unknown): void;
  /**
   * Stores in Redis that the attempt failed, or that the handler used `retryLater` or `deadLetter`. Calls `Attempts.forget` after the
   * reply.
   */
  fail(attempt: A, failure: Failure): void;
  /** Called each time a handler has ended, even if its attempt was already counted as failed after a timeout. */
  ended?(attempt: A): void;
  /**
   * Error codes of luanest that a retry cannot fix. A handler that throws such an error is not retried. `INVALID_OUTCOME` is always one of
   * them.
   */
  readonly final?: readonly string[];
  /**
   * Object that renews the leases in Redis while handlers run. Default: no renewal, for modules whose tasks or messages have no leases.
   */
  readonly leases?: LeaseOwner<A>;
}

const NO_LEASES: LeaseOwner<never> = { renew: () => Promise.resolve([]), renewalFailed: () => undefined };

interface Limits extends ResolvedShutdown {
  readonly concurrency: number;
}

/**
 * Runs the handlers of one worker. Limits how many run at the same time, applies timeouts, reports exactly one result per attempt, and
 * waits for the handlers at a shutdown. When `abortGraceMs` after a timeout is over, the attempt has failed, but its handler keeps its slot
 * until it has really ended.
 * See DECISIONS.md: slot-until-the-handler-ends
 */
export class Attempts<A extends Attempt> implements Timeouts {
  readonly capacity: Capacity;
  /** Attempts whose result is not stored in Redis yet, and attempts whose task was lost while the handler still runs. */
  private readonly book: LeaseBook<A>;
  /** Attempts that have failed with a timeout, but whose handlers have not ended. Each of them still occupies a slot. */
  private readonly overtime = new Set<A>();
  private idle: (() => void)[] = [];
  private handlers = 0;
  private overtimeTimer: Timer | undefined;

  /** @param freed function to call when a slot becomes free and no code waits for a slot */
  constructor(
    private readonly work: Work<A>,
    private readonly limits: Limits,
    private readonly log: WorkLog,
    freed?: () => void,
  ) {
    this.capacity = new Capacity(limits.concurrency, freed);
    this.book = new LeaseBook<A>(work.leases ?? NO_LEASES);
  }

  /** Attempts whose result is not stored in Redis yet, and attempts whose task was lost while the handler still runs. */
  get all(): readonly A[] {
    return this.book.all;
  }

  /** Number of handlers that run now, including handlers that have exceeded their timeout. */
  get running(): number {
    return this.handlers;
  }

  /**
   * Adds an attempt whose handler will not run, for example because no handler exists. The caller must set its result, and release its
   * slot.
   */
  add(attempt: A): void {
    this.book.add(attempt);
  }

  /**
   * Starts the handler of an attempt, and stores the result when the handler ends. The caller must have reserved a slot. Never throws.
   *
   * @param timeoutMs longest time that the handler may run, ms
   */
  begin(attempt: A, timeoutMs: number): void {
    attempt.alarmAt = attempt.startedAt + timeoutMs;
    attempt.timeouts = this;
    attempt.running = true;
    this.handlers += 1;
    this.book.add(attempt);
    try {
      this.follow(attempt, this.work.call(attempt));
    } catch (error) {
      this.threw(attempt, error);
    }
  }

  /**
   * Renews the leases of the attempts for which `which` returns true, at once, for example after a reconnect. If Redis has lost a lease,
   * the renewal detects this, and the handler's AbortSignal is aborted.
   */
  renewNow(which: (attempt: A) => boolean): void {
    for (const attempt of this.all) if (which(attempt)) this.book.renewNow(attempt);
  }

  /** Removes an attempt, because its result is stored in Redis, or because it will have no result. */
  forget(attempt: A): void {
    this.book.remove(attempt);
    if (this.all.length === 0) for (const resolve of this.idle.splice(0)) resolve();
  }

  /** Resolves when all results are stored in Redis, and the handlers of lost tasks have ended. */
  async untilIdle(): Promise<void> {
    while (this.all.length > 0) await new Promise<void>((resolve) => this.idle.push(resolve));
  }

  /**
   * Ends the attempts of a worker at a shutdown. Waits up to `drainMs` until the handlers have ended and their results are in Redis. Then
   * aborts the AbortSignals of the remaining handlers, waits up to `abortGraceMs`, and gives their tasks back to Redis. Finally waits for
   * the replies to the calls in flight, and stops renewing leases.
   *
   * @param taking promise that resolves when all calls that fetch tasks have ended
   * @param calls calls to Redis that are in flight
   * @param handBack function that gives unfinished tasks back to Redis, without counting the attempt
   */
  async drain(
    taking: Promise<unknown>,
    calls: Pick<Calls<never>, 'settled'>,
    handBack: (left: readonly A[]) => Promise<unknown>,
  ): Promise<void> {
    const { drainMs, abortGraceMs } = this.limits;
    const ended = taking.then(() => this.untilIdle());
    if (!(await endsWithin(drainMs, ended))) {
      const undecided = (): A[] => this.all.filter(({ decided }) => !decided);
      for (const attempt of undecided())
        attempt.abort(new ClosedError('This app is shutting down, and drainMs is over. The handler must end now.'));
      await endsWithin(abortGraceMs, this.untilIdle());
      const left = undecided();
      for (const attempt of left) attempt.decided = true;
      await endsWithin(LAST_ANSWERS_MS, handBack(left));
      for (const attempt of this.all.filter(({ orphaned }) => orphaned)) this.forget(attempt);
    }
    // Waiting for the calls in flight now would not be enough: a call that fetches tasks may end later, and its tasks are then given back
    // with another call. Acknowledgements may also still wait to be sent together.
    const answered = taking.then(() => Promise.all([this.untilIdle(), calls.settled()]));
    await endsWithin(LAST_ANSWERS_MS, answered);
    time.clearTimer(this.overtimeTimer);
    // Stops renewing leases, and stops the timer for renewals and timeouts.
    this.book.clear();
  }

  private follow(attempt: A, returned: unknown): void {
    if (typeof returned !== 'object' || returned === null) this.returned(attempt, returned);
    else if (isThenable(returned)) {
      // A thenable may call its callbacks several times. `Promise.resolve` makes sure that only the first call counts.
      Promise.resolve(returned).then(
        (value) => {
          try {
            this.follow(attempt, value);
          } catch {
            // Reading the type of the value has thrown, because the value is a Proxy. The handler succeeded nevertheless.
            this.returned(attempt, undefined);
          }
        },
        (error: unknown) => this.threw(attempt, error),
      );
    } else if (isStream(returned)) this.follow(attempt, lastValueFrom(returned, { defaultValue: undefined }));
    else this.returned(attempt, returned);
  }

  private returned(attempt: A, value: unknown): void {
    this.ended(attempt);
    if (attempt.decided) return;
    if (value !== undefined && unfinishedOutcome(value)) return this.fail(attempt, value);
    attempt.decided = true;
    this.work.succeed(attempt, value);
  }

  private threw(attempt: A, thrown: unknown): void {
    this.ended(attempt);
    const error = readable(thrown);
    // A handler that throws after its timeout probably does so because its AbortSignal was aborted. So the attempt is reported as timed
    // out, not with the thrown error.
    this.fail(attempt, unfinishedOutcome(error) ?? attempt.timeout ?? error);
  }

  /** Frees the slot of a handler that has ended. The attempt may have been counted as failed before, for example after a timeout. */
  private ended(attempt: A): void {
    attempt.running = false;
    this.handlers -= 1;
    if (this.overtime.size > 0) this.overtime.delete(attempt);
    if (attempt.orphaned) this.forget(attempt);
    this.work.ended?.(attempt);
    this.capacity.release(1);
  }

  private fail(attempt: A, error: unknown): void {
    if (attempt.decided) return;
    attempt.decided = true;
    this.work.fail(attempt, failureOf(error, attempt, this.work.final));
  }

  /** Called when `timeoutMs` is over, and again `abortGraceMs` later. @param now the time by `time.monotonicMs()` */
  timeOut(attempt: A, now: number): void {
    if (attempt.decided) return;
    if (attempt.timeout !== undefined) {
      // A handler that ignores its AbortSignal keeps its slot until it ends.
      if (attempt.running) this.runsOver(attempt);
      this.fail(attempt, attempt.timeout);
      return;
    }
    const tookMs = Math.round(now - attempt.startedAt);
    attempt.timeout = new TimeoutError(`The handler of ${attempt.label} did not end within ${tookMs} ms (timeoutMs).`);
    // The task is kept for up to `abortGraceMs` more. So the handler can end before a retry of the same task begins.
    attempt.alarmAt = now + this.limits.abortGraceMs;
    this.book.watch(attempt);
    attempt.abort(attempt.timeout);
  }

  private runsOver(attempt: A): void {
    this.overtime.add(attempt);
    if (this.overtimeTimer !== undefined) return;
    this.reportOvertime();
    this.overtimeTimer = time.setRepeatingTimer(() => this.reportOvertime(), OVERTIME_AGAIN_MS);
    this.overtimeTimer.unref();
  }

  private reportOvertime(): void {
    const labels = [...this.overtime].map(({ label }) => label);
    if (labels.length > 0) return this.log.overtime(labels, this.limits.concurrency);
    time.clearTimer(this.overtimeTimer);
    this.overtimeTimer = undefined;
  }
}

function isThenable(value: object): value is PromiseLike<unknown> {
  return 'then' in value && typeof value.then === 'function';
}

/** Returns true for an Observable. Returns false for a Proxy that throws when it is read. */
function isStream(value: object): value is Observable<unknown> {
  try {
    return isObservable(value);
  } catch {
    return false;
  }
}
