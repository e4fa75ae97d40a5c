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

/** Pause between two log lines about handlers that run on after their timeout, ms. */
const OVERTIME_AGAIN_MS = 60_000;
/** How long a shutdown waits at most for the replies when it hands work back, and again for those to its last calls, ms. */
const LAST_ANSWERS_MS = 2_000;

/** Free slots for attempts. Callers that need slots wait in a queue. */
export class Capacity {
  private readonly waiting: { readonly most: number; readonly grant: (slots: number) => void }[] = [];
  private closed = false;
  private serving = false;

  /** @param freed called when slots became free and no caller waits */
  constructor(
    private slots: number,
    private readonly freed: () => void = () => undefined,
  ) {}

  get free(): number {
    return this.slots;
  }

  /** Reserves 1 to `most` slots; waits until a slot is free. @returns the number of slots; 0 after `close` */
  reserve(most: number): Promise<number> | number {
    if (this.closed) return 0;
    if (this.slots > 0 && this.waiting.length === 0) return this.grab(most);
    return new Promise((grant) => this.waiting.push({ most, grant }));
  }

  /** Reserves up to `most` slots at once. @returns the number of slots, 0 if none is free */
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
      // Often many attempts end in one turn of the event loop. So the caller waits until the end of the turn, and gets the slots of all.
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

/** The calls of a worker to Redis, and its other work in flight, which a shutdown waits for. */
export class Calls<During extends string> extends Retries<During> {
  /** True when no more work is taken. */
  closing = false;
  private isStopped = false;
  private readonly inFlight = new Set<Promise<unknown>>();

  /** @param reportError called after each failure of a call, with the name of its step */
  constructor(readonly reportError: (during: During, error: unknown) => void) {
    super(reportError);
  }

  get stopped(): boolean {
    return this.isStopped;
  }

  /** Ends the repetition of calls. After this, no call is repeated. */
  stop(): void {
    this.isStopped = true;
    this.close();
  }

  /** Makes `settled` wait for `work`. */
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
   * Repeats a call until it succeeds or the worker has stopped. Only for scripts that are harmless twice.
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
 * One run of a handler for a task or a message that this process has taken. It is a lease with the signal of the handler. The lease is
 * renewed if the lib leases each task by itself.
 */
export abstract class Attempt extends Lease {
  readonly startedAt = time.monotonicMs();
  /** True once the outcome is decided, the work is lost or handed back. What the handler does after this has no effect. */
  decided = false;
  /** True while the handler runs, which may be after the outcome is decided. */
  running = false;
  /** True if the work was lost while the handler ran: there is no outcome to send, but a shutdown waits for the handler. */
  orphaned = false;
  /** Error of the timeout; undefined before the timeout. The handler may still end within `abortGraceMs`. */
  timeout: Error | undefined;
  /** The attempts to which this one belongs, while its handler runs. */
  timeouts: Timeouts | undefined;

  /** Number of this attempt; 1 for the first. */
  abstract get attempt(): number;
  /** Maximum number of attempts of the task or message. */
  abstract get attempts(): number;
  abstract get backoff(): ResolvedBackoff;
  /** Name for errors and logs, such as `message 0:1-0`. */
  abstract get label(): string;

  override alarm(now: number): void {
    this.timeouts?.timeOut(this, now);
  }

  override lose(error: LostError): void {
    if (!this.decided) return super.lose(error);
    // The outcome is being sent. The lease may be gone because Redis has it already.
    this.renewAt = time.monotonicMs() + this.leaseMs / 3;
  }

  /** The lease has ended by the clock of this process. In Redis it may not have ended, so it is still renewed. */
  protected override lapse(error: LostError): void {
    this.abort(error);
  }
}

/** Functions of a lib that handle its attempts. No function may throw, except `call`. */
export interface Work<A extends Attempt> {
  /** Calls the handler of an attempt. It may throw, and return a value, a promise, a thenable or an Observable. */
  call(attempt: A): unknown;
  /** Settles an attempt whose handler succeeded, and calls `forget` when Redis has replied. */
  succeed(attempt: A, value: unknown): void;
  /** Settles an attempt that failed or that the handler ended with an outcome, and calls `forget` when Redis has replied. */
  fail(attempt: A, failure: Failure): void;
  /** Called when a handler has ended. Its outcome may have been decided before. */
  ended?(attempt: A): void;
  /** Codes of errors after which there is no other attempt, besides `INVALID_OUTCOME`. */
  readonly final?: readonly string[];
  /** Renews the leases of attempts. Default: attempts have no leases of their own. */
  readonly leases?: LeaseOwner<A>;
}

const NO_LEASES: LeaseOwner<never> = { renew: () => Promise.resolve([]), renewalFailed: () => undefined };

/** Settings of `Attempts`. */
interface Limits extends ResolvedShutdown {
  readonly concurrency: number;
}

/**
 * The attempts in flight of one worker: runs their handlers in slots, decides their outcomes once, fires their signals, and ends
 * them at a shutdown. A slot belongs to the handler until it ends, the work to the attempt until `abortGraceMs` after its timeout.
 * See DECISIONS.md: slot-until-the-handler-ends
 */
export class Attempts<A extends Attempt> implements Timeouts {
  readonly capacity: Capacity;
  /** Attempts whose outcome Redis does not have yet, and those that are orphaned. */
  private readonly book: LeaseBook<A>;
  /** Attempts that were given up after their timeout, and whose handlers still run. Each keeps its slot. */
  private readonly overtime = new Set<A>();
  private idle: (() => void)[] = [];
  private handlers = 0;
  private overtimeTimer: Timer | undefined;

  /** @param freed called when slots became free and no call of `capacity.reserve` waits */
  constructor(
    private readonly work: Work<A>,
    private readonly limits: Limits,
    private readonly log: WorkLog,
    freed?: () => void,
  ) {
    this.capacity = new Capacity(limits.concurrency, freed);
    this.book = new LeaseBook<A>(work.leases ?? NO_LEASES);
  }

  /** Attempts whose outcome Redis does not have yet, and those that are orphaned. */
  get all(): readonly A[] {
    return this.book.all;
  }

  /** Number of handlers that run, including those that run on after their outcome is decided. */
  get running(): number {
    return this.handlers;
  }

  /** Notes an attempt whose handler is not called. Its caller decides its outcome, and frees its slot. */
  add(attempt: A): void {
    this.book.add(attempt);
  }

  /** Calls the handler of an attempt, for which the caller has reserved a slot, and settles the attempt when it ends. Never throws. */
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

  /** Renews leases now, because Redis may have ended them. If it has, the reply fires the signals. */
  renewNow(which: (attempt: A) => boolean): void {
    for (const attempt of this.all) if (which(attempt)) this.book.renewNow(attempt);
  }

  /** Notes that Redis has the outcome of an attempt, or never will. */
  forget(attempt: A): void {
    this.book.remove(attempt);
    if (this.all.length === 0) for (const resolve of this.idle.splice(0)) resolve();
  }

  /** Resolves when Redis has the outcomes of all attempts, and the handlers of orphaned ones have ended. */
  async untilIdle(): Promise<void> {
    while (this.all.length > 0) await new Promise<void>((resolve) => this.idle.push(resolve));
  }

  /**
   * Ends the attempts of a worker that takes no more work. Waits at most `drainMs` for the handlers and their outcomes. Then
   * fires the signals of those that still run, waits at most `abortGraceMs`, and hands their work back. At last waits for the replies
   * to the calls in flight, and ends the repetition of calls.
   *
   * @param taking resolves when all calls that take work have ended
   * @param handBack hands work back, so that its attempts do not count
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
    // A take that ends now hands its work back. Outcomes may still wait for a call, such as acknowledgements that are sent
    // together. So the calls in flight are not all.
    const answered = taking.then(() => Promise.all([this.untilIdle(), calls.settled()]));
    await endsWithin(LAST_ANSWERS_MS, answered);
    time.clearTimer(this.overtimeTimer);
    // No lease is renewed after this.
    for (const attempt of [...this.all]) this.book.remove(attempt);
  }

  private follow(attempt: A, returned: unknown): void {
    if (typeof returned !== 'object' || returned === null) this.returned(attempt, returned);
    else if (isThenable(returned)) {
      // A thenable may call both callbacks, and several times. `Promise.resolve` makes a promise of it that settles once.
      Promise.resolve(returned).then(
        (value) => {
          try {
            this.follow(attempt, value);
          } catch {
            // The value is a Proxy that throws when its type is read. The handler has succeeded nevertheless.
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
    // After a timeout, the handler probably throws because its signal fired. So the error of the attempt is the timeout.
    this.fail(attempt, unfinishedOutcome(error) ?? attempt.timeout ?? error);
  }

  /** Notes that a handler has ended, which may be after the outcome was decided. */
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

  /** Called at the end of `timeoutMs`, and again at the end of `abortGraceMs`. */
  timeOut(attempt: A, now: number): void {
    if (attempt.decided) return;
    if (attempt.timeout !== undefined) {
      // The slot is free when the handler has ended.
      if (attempt.running) this.runsOver(attempt);
      this.fail(attempt, attempt.timeout);
      return;
    }
    const tookMs = Math.round(now - attempt.startedAt);
    attempt.timeout = new TimeoutError(`The handler of ${attempt.label} did not end within ${tookMs} ms.`);
    // The work stays leased for up to abortGraceMs, to give the handler time to end before a retry runs.
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

/** Returns true for an Observable; false also for a Proxy that throws. */
function isStream(value: object): value is Observable<unknown> {
  try {
    return isObservable(value);
  } catch {
    return false;
  }
}
