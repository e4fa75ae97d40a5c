import { Logger } from '@nestjs/common';
import { classOf, InvalidOutcomeError, thrownKind, time, LostError, TimeoutError } from '../../../internal/src';
import { Failure, isOutcome, outcomeOf, outcomeOfThrown, type Outcome } from '../handlers/outcome';
import { MalformedPayloadError } from '../stream-consumer.errors';
import { events } from '../stream-consumer.events';
import type { ResolvedConsumerOptions } from '../stream-consumer.options';
import type { StreamMessage } from '../stream-consumer.types';
import type { Delivery } from './delivery';
import { kept, problemOf } from './settler';

/** Calls a handler, and returns or throws what the handler does. Log lines show the name of this function. */
export type Invoke = (message: StreamMessage) => unknown;

const ASKED = 'the handler asked for a retry';
const HANDED_BACK = 'handed back';
const GIVEN_UP = 'the handler returned or threw deadLetter()';
const NO_ATTEMPT_LEFT =
  'no attempt is left: the consumer of the last one died, shut down or lost its lease, or the option attempts was lowered since';

const WARNED_EVERY_MS = 10_000;
/** Pause before a message is taken again while an older handler of its key still runs, ms. */
const BUSY_KEY_MS = 1_000;

/** Errors after which a message is dead-lettered at once. */
const FINAL_ERRORS = [InvalidOutcomeError, MalformedPayloadError] as const;
/** Errors of this lib whose text is logged, because it contains nothing of a payload. */
const OWN_ERRORS = [TimeoutError, ...FINAL_ERRORS] as const;

interface Burial {
  /** Text that is kept with the dead letter. The text may quote a payload. */
  readonly problem: string;
  /** Text for the log, which contains nothing of a payload. */
  readonly logged: string;
  readonly error?: unknown;
}

/** Runs the handler on messages, and passes the outcomes to the Settler, which sends them to Redis. */
export class HandlerRunner {
  private readonly logger = new Logger('StreamConsumer');
  private readonly running = new Set<Delivery>();
  /** Keys of ordered messages whose handlers still run, including those whose outcome is ignored. */
  private readonly busyKeys = new Set<string>();
  private warnedAt = -Infinity;
  private hasWarnedOfResult = false;

  /** @param ended called when a handler has ended or a message was settled, so that another message may be taken */
  constructor(
    private readonly options: ResolvedConsumerOptions,
    private readonly invoke: Invoke,
    private readonly ended: () => void,
    private readonly registry?: object,
  ) {}

  /** Number of running handlers. Counts those whose message was lost, but not those that run on after `timeoutMs`. */
  get size(): number {
    return this.running.size;
  }

  /** Runs the handler unless the message must not be handled now, and settles the message with the outcome. Never throws. */
  start(delivery: Delivery): void {
    const { attempt } = delivery.entry;
    // A replayed dead letter of another group: this group settles it without a call of the handler.
    if (attempt === 0) return this.settle(delivery, outcomeOf(undefined));
    if (attempt > this.options.attempts)
      return this.bury(delivery, { problem: `Error: ${NO_ATTEMPT_LEFT}`, logged: NO_ATTEMPT_LEFT });
    const { orderKey } = delivery;
    // A handler may still run after `timeoutMs` or after its message was lost. The next message of its key waits until it ends.
    if (orderKey !== undefined && this.busyKeys.has(orderKey)) return this.putBack(delivery, BUSY_KEY_MS);
    this.running.add(delivery);
    let result: unknown;
    let isAsync: boolean;
    try {
      delivery.read();
      result = this.invoke(delivery);
      isAsync = isThenable(result);
    } catch (error) {
      return this.end(delivery, outcomeOfThrown(error));
    }
    if (!isAsync) return this.end(delivery, this.outcomeOf(result));
    if (orderKey !== undefined) this.busyKeys.add(orderKey);
    const ended = (outcome: Outcome): void => {
      if (orderKey !== undefined) this.busyKeys.delete(orderKey);
      this.end(delivery, outcome);
    };
    Promise.resolve(result).then(
      (value: unknown) => ended(this.outcomeOf(value)),
      (error: unknown) => ended(outcomeOfThrown(error)),
    );
  }

  expire(now: number): void {
    const { timeoutMs } = this.options;
    for (const delivery of this.running) {
      // The set has the order in which the handlers began, so all others began later.
      if (now - delivery.startedAt < timeoutMs) return;
      const error = new TimeoutError(
        `The handler of message ${delivery.id} ran for longer than timeoutMs (${timeoutMs} ms).`,
      );
      delivery.abort(error);
      this.end(delivery, new Failure(error));
    }
  }

  abort(): void {
    for (const delivery of this.running) {
      delivery.abort(
        new LostError(
          `The consumer stops, so message ${delivery.id} is handed back if its handler does not end within abortGraceMs.`,
        ),
      );
    }
  }

  /** Hands back all messages whose handlers still run. Their attempts do not count. */
  handBack(): void {
    for (const delivery of this.running) {
      if (!delivery.decided) this.putBack(delivery);
    }
  }

  /** Hands back a message whose handler was not called, or whose outcome is to be ignored. The attempt does not count. */
  putBack(delivery: Delivery, delayMs = 0): void {
    this.decide(delivery);
    void delivery.reader.settler.retry(delivery, delayMs, false, uniqueNote(HANDED_BACK, delivery));
    this.ended();
  }

  private outcomeOf(result: unknown): Outcome {
    if (result !== undefined && !this.hasWarnedOfResult && !isOutcome(result)) {
      this.hasWarnedOfResult = true;
      const { stream, group } = this.options;
      this.logger.warn(
        `${stream}/${group}: ${this.invoke.name || 'the handler'} returned ${classOf(result)}, which is treated ` +
          `as if it had returned nothing. Return nothing, commit(), retryLater({ delayMs }) or deadLetter(reason). Logged once.`,
      );
    }
    return outcomeOf(result);
  }

  private end(delivery: Delivery, outcome: Outcome): void {
    if (this.running.delete(delivery)) this.ended();
    if (!delivery.decided) this.settle(delivery, outcome);
  }

  private settle(delivery: Delivery, outcome: Outcome): void {
    switch (outcome.kind) {
      case 'commit':
        this.decide(delivery);
        delivery.reader.settler.commit(delivery);
        return this.ended();
      case 'dead-letter':
        return this.bury(delivery, { problem: kept(outcome.reason), logged: GIVEN_UP });
      case 'retry-later':
        if (!outcome.countsAsAttempt)
          return this.retry(delivery, outcome.delayMs, undefined, uniqueNote(ASKED, delivery), false);
        if (delivery.attempt >= this.options.attempts) return this.bury(delivery, { problem: ASKED, logged: ASKED });
        return this.retry(delivery, outcome.delayMs, undefined, ASKED, true);
      case 'failure':
        return this.fail(delivery, outcome.error);
    }
  }

  private fail(delivery: Delivery, error: unknown): void {
    const problem = problemOf(error);
    const logged = loggedText(error);
    if (isOneOf(error, FINAL_ERRORS) || delivery.attempt >= this.options.attempts)
      return this.bury(delivery, { problem, logged, error });
    const delayMs = this.pauseAfter(delivery.attempt);
    this.warn(delivery, logged, delayMs);
    this.retry(delivery, delayMs, error, problem, true);
  }

  private retry(delivery: Delivery, delayMs: number, error: unknown, problem: string, counts: boolean): void {
    const { stream, group, id, attempt } = delivery;
    this.decide(delivery);
    events.messageRetried.publish(() => ({ stream, group, id, attempt, delayMs, error }), this.registry);
    void delivery.reader.settler.retry(delivery, delayMs, counts, problem);
  }

  private bury(delivery: Delivery, { problem, logged, error }: Burial): void {
    const { stream, group, id, attempt } = delivery;
    const attempts = Math.min(attempt, this.options.attempts);
    // If no attempt was left, this one did not begin.
    const last = attempt > this.options.attempts ? attempt - 1 : attempt;
    this.decide(delivery);
    events.messageDeadLettered.publish(() => ({ stream, group, id, attempts, reason: problem, error }), this.registry);
    void delivery.reader.settler.bury(delivery, problem).then((buried) => {
      if (buried === undefined) return;
      const fate = buried > 0 ? 'is dead-lettered' : 'is dead-lettered, unless it was deleted from the stream,';
      this.logger.error(`${stream}/${group}: message ${id} ${fate} after attempt ${last}: ${logged}.`);
    });
  }

  /** Logs at most one line in 10 s, because thousands of attempts may fail in a second. Each failure is published as an event. */
  private warn({ stream, group, id, attempt }: Delivery, reason: string, delayMs: number): void {
    if (time.monotonicMs() - this.warnedAt < WARNED_EVERY_MS) return;
    this.warnedAt = time.monotonicMs();
    this.logger.warn(
      `${stream}/${group}: message ${id} failed at attempt ${attempt}: ${reason}. The next attempt is due in ${delayMs} ms.`,
    );
  }

  private decide(delivery: Delivery): void {
    delivery.decided = true;
    const { held } = delivery.session;
    // After a failover, the session may have taken the entry a second time.
    if (held.get(delivery.entry.id) === delivery) held.delete(delivery.entry.id);
  }

  private pauseAfter(attempt: number): number {
    const { delayMs, factor, maxDelayMs } = this.options.backoff;
    // 0 * Infinity would be NaN.
    const longest = delayMs === 0 ? 0 : Math.min(maxDelayMs, delayMs * factor ** (attempt - 1));
    return Math.round(longest * (0.5 + Math.random() / 2));
  }
}

// See DECISIONS.md: uncounted-retry-has-a-note
/**
 * Returns the text that is stored with a retry that does not count. A unique text lets the script recognize a replay of the
 * call.
 */
function uniqueNote(why: string, { session }: Delivery): string {
  return `${why} ${session.name} ${session.nextToken()}`;
}

function isThenable(value: unknown): boolean {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

function isOneOf(error: unknown, classes: typeof OWN_ERRORS | typeof FINAL_ERRORS): boolean {
  try {
    return classes.some((each) => error instanceof each);
  } catch {
    // The error is a proxy that throws.
    return false;
  }
}

/** Returns the text of an error of this lib; the class or type of any other thrown value, whose text may quote a payload. */
function loggedText(error: unknown): string {
  return isOneOf(error, OWN_ERRORS) ? problemOf(error).replace(/\.$/, '') : thrownKind(error);
}
