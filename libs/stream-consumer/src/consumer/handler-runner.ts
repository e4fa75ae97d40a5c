import { Logger } from '@nestjs/common';
import {
  HandlerTimeoutError,
  InvalidOutcomeError,
  MalformedPayloadError,
  MessageLostError,
} from '../stream-consumer.errors';
import { events } from '../stream-consumer.events';
import { classOf, Failure, isOutcome, outcomeOf, outcomeOfThrown, type Outcome } from '../handlers/outcome';
import type { ResolvedConsumerOptions } from '../stream-consumer.options';
import type { StreamMessage } from '../stream-consumer.types';
import type { Delivery } from './delivery';
import { kept, problemOf } from './settler';

/** What runs a handler: resolves or throws as the handler did. Logs use its name. */
export type Invoke = (message: StreamMessage) => unknown;

const ASKED = 'the handler asked for a retry';
const HANDED_BACK = 'handed back';
const GIVEN_UP = 'the handler gave it up';
const DIED = 'each attempt ended with the death of its consumer';

const WARNED_EVERY_MS = 10_000;
/** When a message is looked at again whose key still has a handler that runs, ms. */
const BUSY_KEY_MS = 1_000;

/** Errors that a further attempt would give again. */
const FINAL_ERRORS = [InvalidOutcomeError, MalformedPayloadError] as const;
/** Errors of this lib that say nothing of a payload: logs have their text. */
const OWN_ERRORS = [HandlerTimeoutError, ...FINAL_ERRORS] as const;

/** From a message to what became of it: runs the handler and has its outcome settled. */
export class Attempts {
  private readonly logger = new Logger('StreamConsumer');
  private readonly running = new Set<Delivery>();
  /** Ordered keys whose handlers have not ended, those that were given up included. */
  private readonly busyKeys = new Set<string>();
  private warnedAt = -Infinity;
  private hasWarnedOfResult = false;

  /** @param ended called when a handler has ended, so that another one may run */
  constructor(
    private readonly options: ResolvedConsumerOptions,
    private readonly invoke: Invoke,
    private readonly ended: () => void,
  ) {}

  /** Handlers that run, those among them whose messages were lost. */
  get size(): number {
    return this.running.size;
  }

  /** Runs the handler; whatever it does, the message is settled or stays taken. */
  start(delivery: Delivery): void {
    delivery.session.held.set(delivery.entry.id, delivery);
    const { attempt } = delivery.entry;
    // For another group: settled for this one without a look.
    if (attempt === 0) return this.settle(delivery, outcomeOf(undefined));
    if (attempt > this.options.attempts) return this.bury(delivery, `Error: ${DIED}`, DIED);
    const { orderKey } = delivery;
    // A handler that outlived its time, or whose message was lost, still runs: the next of its key waits for it.
    if (orderKey !== undefined && this.busyKeys.has(orderKey)) return this.putBack(delivery, BUSY_KEY_MS);
    this.running.add(delivery);
    let result: unknown;
    let later: boolean;
    try {
      delivery.read();
      result = this.invoke(delivery);
      later = isThenable(result);
    } catch (error) {
      return this.end(delivery, outcomeOfThrown(error));
    }
    if (!later) return this.end(delivery, this.outcomeOf(result));
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

  /** Counts attempts as failed whose handlers run for too long. */
  expire(now: number): void {
    const { handlerTimeoutMs } = this.options;
    for (const delivery of this.running) {
      // They stand in the order in which they began.
      if (now - delivery.startedAt < handlerTimeoutMs) return;
      const error = new HandlerTimeoutError(
        `The handler of message ${delivery.id} ran for over ${handlerTimeoutMs} ms`,
      );
      delivery.abort(error);
      this.end(delivery, new Failure(error));
    }
  }

  /** Fires the signals of all that runs. */
  abort(): void {
    for (const delivery of this.running) {
      delivery.abort(new MessageLostError(`Message ${delivery.id} will be handed back: the consumer stops`));
    }
  }

  /** Hands back what still runs, as if it had not been taken. */
  handBack(): void {
    for (const delivery of this.running) {
      delivery.abort(new MessageLostError(`Message ${delivery.id} was handed back: the consumer stopped`));
      if (!delivery.decided) this.putBack(delivery);
    }
  }

  /** Hands back one that no handler has seen, or whose handler does not count any more. */
  putBack(delivery: Delivery, delayMs = 0): void {
    this.decide(delivery);
    void delivery.reader.settler.retry(delivery, delayMs, false, noteOf(HANDED_BACK, delivery));
    this.ended();
  }

  private outcomeOf(result: unknown): Outcome {
    if (result !== undefined && !this.hasWarnedOfResult && !isOutcome(result)) {
      this.hasWarnedOfResult = true;
      const { stream, group } = this.options;
      this.logger.warn(
        `${stream}/${group}: ${this.invoke.name || 'the handler'} returned ${classOf(result)}, which is ignored: the message ` +
          `is handled. Return nothing, commit(), retryLater({ delayMs }) or deadLetter(reason). Logged once.`,
      );
    }
    return outcomeOf(result);
  }

  private end(delivery: Delivery, outcome: Outcome): void {
    this.free(delivery);
    if (!delivery.decided) this.settle(delivery, outcome);
  }

  private free(delivery: Delivery): void {
    if (this.running.delete(delivery)) this.ended();
  }

  private settle(delivery: Delivery, outcome: Outcome): void {
    switch (outcome.kind) {
      case 'commit':
        this.decide(delivery);
        delivery.reader.settler.commit(delivery);
        return this.ended();
      case 'dead-letter':
        return this.bury(delivery, kept(outcome.reason), GIVEN_UP);
      case 'retry-later':
        if (!outcome.countsAsAttempt)
          return this.again(delivery, outcome.delayMs, undefined, noteOf(ASKED, delivery), false);
        if (delivery.attempt >= this.options.attempts) return this.bury(delivery, ASKED, ASKED);
        return this.again(delivery, outcome.delayMs, undefined, ASKED, true);
      case 'failure':
        return this.fail(delivery, outcome.error);
    }
  }

  private fail(delivery: Delivery, error: unknown): void {
    const problem = problemOf(error);
    const reason = reasonOf(error);
    if (isOneOf(error, FINAL_ERRORS) || delivery.attempt >= this.options.attempts)
      return this.bury(delivery, problem, reason);
    const delayMs = this.pauseAfter(delivery.attempt);
    const { stream, group, id, attempt } = delivery;
    this.warn(`${stream}/${group}: message ${id}, attempt ${attempt}: ${reason}`, delayMs);
    this.again(delivery, delayMs, error, problem, true);
  }

  private again(delivery: Delivery, delayMs: number, error: unknown, problem: string, counts: boolean): void {
    const { stream, group, id, attempt } = delivery;
    this.decide(delivery);
    events.retried.publish(() => ({ stream, group, id, attempt, delayMs, error }));
    void delivery.reader.settler.retry(delivery, delayMs, counts, problem);
  }

  /** @param reason what a log may say of the problem, whose text is the app's own and may hold a payload */
  private bury(delivery: Delivery, problem: string, reason: string): void {
    const { stream, group, id } = delivery;
    const attempts = Math.min(delivery.attempt, this.options.attempts);
    this.decide(delivery);
    this.logger.error(`${stream}/${group}: message ${id} is dead-lettered after attempt ${attempts}: ${reason}.`);
    events.dead.publish(() => ({ stream, group, id, attempts, error: problem }));
    void delivery.reader.settler.bury(delivery, problem);
  }

  /** A line at most every 10 s: what fails may fail a thousand times a second, and each is published on the channel. */
  private warn(line: string, delayMs: number): void {
    if (performance.now() - this.warnedAt < WARNED_EVERY_MS) return;
    this.warnedAt = performance.now();
    this.logger.warn(`${line}. Tried again in ${delayMs} ms.`);
  }

  private decide(delivery: Delivery): void {
    delivery.decided = true;
    delivery.session.held.delete(delivery.entry.id);
  }

  private pauseAfter(attempt: number): number {
    const { backoffMs, maxBackoffMs } = this.options;
    const longest = Math.min(maxBackoffMs, backoffMs * 2 ** Math.min(attempt - 1, 40));
    return Math.round(longest * (0.5 + Math.random() / 2));
  }
}

// See DECISIONS.md: uncounted-retry-has-a-note
/** What is noted of a retry that does not count: a text of its own, so that it is recognized when it is sent again. */
function noteOf(why: string, { session }: Delivery): string {
  return `${why} ${session.name} ${session.nextToken()}`;
}

function isThenable(value: unknown): boolean {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

function isOneOf(error: unknown, classes: typeof OWN_ERRORS | typeof FINAL_ERRORS): boolean {
  try {
    return classes.some((each) => error instanceof each);
  } catch {
    // A proxy.
    return false;
  }
}

/** What a log says of an error: the text of one that this lib made, the class of any other. */
function reasonOf(error: unknown): string {
  if (isOneOf(error, OWN_ERRORS)) return problemOf(error).replace(/\.$/, '');
  try {
    return error instanceof Error ? error.constructor.name : `a thrown ${typeof error}`;
  } catch {
    return 'an error that cannot be shown';
  }
}
