import { isObservable, lastValueFrom, type Observable } from 'rxjs';
import {
  ClosedError,
  endsWithin,
  Lease,
  LeaseBook,
  nextTurn,
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
import { type Failure, failureOf, readable } from './failure';
import type { WorkLog } from './work-log';

/** Time between two log lines about handlers that still run after their timeout, ms. */
const OVERTIME_AGAIN_MS = 60_000;
/**
 * Longest time that a shutdown waits for the replies to the calls that hand work back, ms. After that it waits up to the same time again
 * for the replies to all other calls.
 */
const LAST_ANSWERS_MS = 2_000;

/**
 * Counts the free slots of a worker. A handler needs one slot, so the number of slots limits how many handlers run at the same time.
 * Callers that need slots wait in a queue.
 */
export class Capacity {
  private readonly waiting: { readonly most: number; readonly grant: (slots: number) => void }[] = [];
  private closed = false;
  private serving = false;

  /**
   * @param slots number of slots
   * @param freed called when slots became free and no caller waits
   */
  constructor(
    private slots: number,
    private readonly freed: () => void = () => undefined,
  ) {}

  get free(): number {
    return this.slots;
  }

  /** Reserves 1 to `most` slots. Waits until a slot is free. @returns the number of reserved slots; 0 after `close` */
  reserve(most: number): Promise<number> | number {
    if (this.closed) return 0;
    if (this.slots > 0 && this.waiting.length === 0) return this.grab(most);
    return new Promise((grant) => this.waiting.push({ most, grant }));
  }

  /** Reserves up to `most` slots without waiting. @returns the number of reserved slots; 0 if no slot is free */
  grab(most: number): number {
    const slots = Math.min(most, this.slots);
    this.slots -= slots;
    return slots;
  }

  release(slots: number): void {
    this.slots += slots;
    const next = this.waiting[0];
    if (next === undefined) this.freed();
    else if (this.serving) return;
    else if (this.slots >= next.most) this.serve();
    else {
      // Often many attempts end in one turn of the event loop. So the first caller in the queue waits until the end of this turn, and gets
      // the slots of all these attempts at once.
      this.serving = true;
      nextTurn(() => {
        this.serving = false;
        this.serve();
      });
    }
  }

  /** Makes all waiting calls and all later calls of `reserve` return 0. */
  close(): void {
    this.closed = true;
    for (const { grant } of this.waiting.splice(0)) grant(0);
  }

  private serve(): void {
    while (this.slots > 0) {
      const next = this.waiting.shift();
      if (!next) return;
      next.grant(this.grab(next.most));
    }
  }
}

/** Repeats the calls of a worker to Redis until they succeed. Also tracks the work for which a shutdown must wait. */
export class Calls<During extends string> extends Retries<During> {
  /** True after the shutdown has begun: the worker takes no more work. */
  closing = false;
  private isStopped = false;
  private readonly inFlight = new Set<Promise<unknown>>();

  /** @param reportError called after each call that failed. `during` is the purpose of the call */
  constructor(readonly reportError: (during: During, error: unknown) => void) {
    super(reportError);
  }

  get stopped(): boolean {
    return this.isStopped;
  }

  /** Stops the repetition of calls: from now on, a call that fails is not repeated. */
  stop(): void {
    this.isStopped = true;
    this.close();
  }

  /** Makes `settled` wait until `work` has ended. */
  track(work: Promise<unknown>): void {
    this.inFlight.add(work);
    const forget = (): void => void this.inFlight.delete(work);
    work.then(forget, forget);
  }

  /** Resolves when no call and no tracked work is in flight. */
  override async settled(): Promise<void> {
    while (this.size > 0 || this.inFlight.size > 0) {
      await super.settled();
      await Promise.allSettled(this.inFlight);
    }
  }

  /**
   * Repeats a call until it succeeds or the worker has stopped. Use it only for scripts that have no further effect when they run twice.
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
 * One run of a handler for a task or a message that this process has taken. The attempt is also a lease, whose signal the handler gets.
 * The lease is renewed only in libs where each task has a lease of its own (see `leases` of Work).
 */
export abstract class Attempt extends Lease {
  readonly startedAt = time.monotonicMs();
  /**
   * True after the outcome was decided, or the work was lost or handed back. What the handler returns or throws after this has no effect.
   */
  decided = false;
  /** True while the handler runs. The outcome may be decided before the handler ends. */
  running = false;
  /** True if the work was lost while the handler ran. No outcome is sent to Redis, but a shutdown still waits for the handler. */
  orphaned = false;
  /** Error of the timeout; undefined before the timeout. After the timeout, the handler may still end within `abortGraceMs`. */
  timeout: Error | undefined;
  /** The `Attempts` object that handles the timeout; undefined before the handler begins. */
  timeouts: Timeouts | undefined;

  /** Number of this attempt, from 1. */
  abstract get attempt(): number;
  /** Maximum number of attempts of the task or message. */
  abstract get attempts(): number;
  abstract get backoff(): ResolvedBackoff;
  /** Name of the work for errors and logs, such as `message 0:1-0`. */
  abstract get label(): string;

  override alarm(now: number): void {
    this.timeouts?.timeOut(this, now);
  }

  override lose(error: LostError): void {
    if (!this.decided) return super.lose(error);
    // The outcome is being sent. Perhaps Redis has stored it already and has therefore removed the lease.
    this.renewAt = time.monotonicMs() + this.leaseMs / 3;
  }

  /**
   * Called when the lease has ended by the clock of this process. In Redis, the lease may not have ended yet, so this process continues
   * to renew it.
   */
  protected override lapse(error: LostError): void {
    this.abort(error);
  }
}

/** Functions with which a lib runs and settles its attempts: it stores their outcomes in Redis. Only `call` may throw. */
export interface Work<A extends Attempt> {
  /** Calls the handler of an attempt. The handler may throw. It may return a value, a promise, a thenable or an Observable. */
  call(attempt: A): unknown;
  /** Settles an attempt whose handler succeeded. Calls `Attempts.forget` when Redis has replied. */
  succeed(attempt: A, value: unknown): void;
  /** Settles an attempt that failed, or whose handler used `retryLater` or `deadLetter`. Calls `forget` when Redis has replied. */
  fail(attempt: A, failure: Failure): void;
  /** Called when a handler has ended. The outcome of the attempt may have been decided earlier. */
  ended?(attempt: A): void;
  /** Codes of errors of luanest after which no attempt follows, in addition to `INVALID_OUTCOME`. */
  readonly final?: readonly string[];
  /** Object that renews the leases of attempts. Default: nothing renews them, because attempts have no leases of their own. */
  readonly leases?: LeaseOwner<A>;
}

const NO_LEASES: LeaseOwner<never> = { renew: () => Promise.resolve([]), renewalFailed: () => undefined };

/** Limits of `Attempts`. */
interface Limits extends ResolvedShutdown {
  readonly concurrency: number;
}

/**
 * Manages the attempts of one worker that are in flight. Runs each handler in a slot, decides the outcome of each attempt once, fires
 * signals, and ends the attempts at a shutdown. A handler keeps its slot until the handler ends. But the attempt gives up the task or
 * message `abortGraceMs` after the timeout, even if the handler still runs.
 * See DECISIONS.md: slot-until-the-handler-ends
 */
export class Attempts<A extends Attempt> implements Timeouts {
  readonly capacity: Capacity;
  /** Attempts whose outcome Redis does not have yet, and orphaned attempts (see `orphaned`). */
  private readonly book: LeaseBook<A>;
  /** Attempts that have failed because of their timeout, but whose handlers still run. Each of these handlers keeps its slot. */
  private readonly overtime = new Set<A>();
  private idle: (() => void)[] = [];
  private handlers = 0;
  private overtimeTimer: Timer | undefined;

  /** @param freed called when slots became free and no call of `capacity.reserve` waits for them */
  constructor(
    private readonly work: Work<A>,
    private readonly limits: Limits,
    private readonly log: WorkLog,
    freed?: () => void,
  ) {
    this.capacity = new Capacity(limits.concurrency, freed);
    this.book = new LeaseBook<A>(work.leases ?? NO_LEASES);
  }

  /** Attempts whose outcome Redis does not have yet, and orphaned attempts (see `orphaned`). */
  get all(): readonly A[] {
    return this.book.all;
  }

  /** Number of handlers that run, including those that run on after their outcome is decided. */
  get running(): number {
    return this.handlers;
  }

  /** Adds an attempt whose handler will not be called. The caller of `add` must decide the outcome of the attempt and release its slot. */
  add(attempt: A): void {
    this.book.add(attempt);
  }

  /**
   * Calls the handler of an attempt, and settles the attempt when the handler has ended. The caller must have reserved a slot. Never
   * throws.
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
   * Renews the leases of the attempts that `which` selects now, because these leases may no longer exist in Redis. If they do not exist,
   * the reply of the renewal makes the signals fire.
   */
  renewNow(which: (attempt: A) => boolean): void {
    for (const attempt of this.all) if (which(attempt)) this.book.renewNow(attempt);
  }

  /** Removes an attempt. Called when Redis has its outcome, or when no outcome will be sent. */
  forget(attempt: A): void {
    this.book.remove(attempt);
    if (this.all.length === 0) for (const resolve of this.idle.splice(0)) resolve();
  }

  /** Resolves when Redis has the outcomes of all attempts, and the handlers of orphaned attempts have ended. */
  async untilIdle(): Promise<void> {
    while (this.all.length > 0) await new Promise<void>((resolve) => this.idle.push(resolve));
  }

  /**
   * Ends the attempts of a worker at a shutdown. Waits at most `drainMs` until the handlers have ended and Redis has their outcomes. Then
   * fires the signals of the handlers that still run, waits at most `abortGraceMs`, and hands their work back. Finally waits for the
   * replies to the calls in flight, and ends the renewal of leases.
   *
   * @param taking resolves when all calls that take work have ended
   * @param calls calls to Redis that are in flight
   * @param handBack function that hands the work of attempts back, so that these attempts do not count
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
      for (const attempt of undecided()) attempt.abort(new ClosedError('The worker is shutting down.'));
      await endsWithin(abortGraceMs, this.untilIdle());
      const left = undecided();
      for (const attempt of left) attempt.decided = true;
      await endsWithin(LAST_ANSWERS_MS, handBack(left));
      for (const attempt of this.all.filter(({ orphaned }) => orphaned)) this.forget(attempt);
    }
    // If a call that takes work ends now, its work is handed back by a further call. Also, outcomes such as acknowledgements may wait to
    // be sent together. So it is not enough to wait for the calls that are in flight now.
    const answered = taking.then(() => Promise.all([this.untilIdle(), calls.settled()]));
    await endsWithin(LAST_ANSWERS_MS, answered);
    time.clearTimer(this.overtimeTimer);
    // No lease is renewed after this.
    for (const attempt of [...this.all]) this.book.remove(attempt);
  }

  private follow(attempt: A, returned: unknown): void {
    if (typeof returned !== 'object' || returned === null) this.returned(attempt, returned);
    else if (isThenable(returned)) {
      // A thenable may call both callbacks, even several times. `Promise.resolve` returns a promise that settles once.
      Promise.resolve(returned).then(
        (value) => {
          try {
            this.follow(attempt, value);
          } catch {
            // The value is a Proxy that throws when its type is read. The handler has still succeeded.
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
    // After a timeout, the handler probably throws because its signal fired. So the attempt fails with the error of the timeout.
    this.fail(attempt, unfinishedOutcome(error) ?? attempt.timeout ?? error);
  }

  /** Called when a handler has ended. Frees its slot. The outcome of the attempt may have been decided earlier. */
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

  /** Called when `timeoutMs` is over, and again when `abortGraceMs` is over. @param now time by `time.monotonicMs()` */
  timeOut(attempt: A, now: number): void {
    if (attempt.decided) return;
    if (attempt.timeout !== undefined) {
      // The handler keeps its slot until it has ended.
      if (attempt.running) this.runsOver(attempt);
      this.fail(attempt, attempt.timeout);
      return;
    }
    const tookMs = Math.round(now - attempt.startedAt);
    attempt.timeout = new TimeoutError(`The handler of ${attempt.label} did not end within ${tookMs} ms.`);
    // Keeps the lease for up to abortGraceMs more, so that the handler can end before a retry begins.
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

/** Returns true for an Observable. Returns false for a Proxy that throws. */
function isStream(value: object): value is Observable<unknown> {
  try {
    return isObservable(value);
  } catch {
    return false;
  }
}
