import { isIntegerOf, UNFINISHED } from '../../../internal/src';
import { InvalidOutcomeError } from '../stream-consumer.errors';

const MAX_DELAY_MS = 366 * 86_400_000;

/** When a message is tried again, and whether that spends one of its attempts. */
export interface RetryLaterOptions {
  /** From now, ms; integer of at most 366 days. Below 0, such as `dueAtMs - Date.now()` of what is overdue, is 0. */
  readonly delayMs: number;
  /** Whether the attempt that asks for it counts. Default true. Without it, a message may be retried without end. */
  readonly countsAsAttempt?: boolean;
}

const KNOWN = ['delayMs', 'countsAsAttempt'];

/** A value in a log: its class, and nothing of what it holds. */
export function classOf(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value !== 'object') return value === undefined ? 'undefined' : `a ${typeof value}`;
  try {
    return `an object of ${value.constructor.name}`;
  } catch {
    return 'an object';
  }
}

/** The options, checked. What they hold may be a message's, so that the error, which is logged, quotes numbers alone. */
function checked(options: RetryLaterOptions): Required<RetryLaterOptions> {
  const refused = (problem: string): InvalidOutcomeError =>
    new InvalidOutcomeError(`retryLater(): ${problem} Give { delayMs, countsAsAttempt? }.`);
  if (typeof options !== 'object' || options === null) throw refused(`the options are ${classOf(options)}.`);
  const { delayMs, countsAsAttempt = true } = options;
  if (!isIntegerOf(delayMs, Number.MIN_SAFE_INTEGER, MAX_DELAY_MS)) {
    const seen = typeof delayMs === 'number' ? String(delayMs) : classOf(delayMs);
    throw refused(`delayMs is ${seen}. Expected an integer of at most ${MAX_DELAY_MS}.`);
  }
  if (typeof countsAsAttempt !== 'boolean') throw refused(`countsAsAttempt is ${classOf(countsAsAttempt)}.`);
  if (Object.keys(options).some((name) => !KNOWN.includes(name))) throw refused('there is an unknown option.');
  return { delayMs: Math.max(0, delayMs), countsAsAttempt };
}

/** The message was handled. */
export class Commit {
  readonly kind = 'commit';
  /** Says nothing beyond that, wherever it is stored. */
  toJSON(): undefined {
    return undefined;
  }
}

/** The message is to be tried again. */
export class RetryLater {
  readonly kind = 'retry-later';
  readonly [UNFINISHED] = true;
  /** From now, ms. */
  readonly delayMs: number;
  /** Whether the attempt that asks for it counts. */
  readonly countsAsAttempt: boolean;

  /** @throws InvalidOutcomeError for a delay that is not an integer, or over 366 days, and for unknown options */
  constructor(options: RetryLaterOptions) {
    ({ delayMs: this.delayMs, countsAsAttempt: this.countsAsAttempt } = checked(options));
    Object.freeze(this);
  }
}

/** The message is to be given up. */
export class DeadLetter {
  readonly kind = 'dead-letter';
  readonly [UNFINISHED] = true;
  /**
   * @param reason text that is not empty
   * @throws InvalidOutcomeError without one
   */
  constructor(readonly reason: string) {
    if (typeof reason !== 'string' || reason === '') {
      throw new InvalidOutcomeError(
        `deadLetter(): the reason is ${reason === '' ? 'empty' : classOf(reason)}. Give text that is not empty: it is kept with the dead letter.`,
      );
    }
    Object.freeze(this);
  }
}

const COMMIT = new Commit();

/** Says that the message was handled, as resolving with nothing does. */
export function commit(): Commit {
  return COMMIT;
}

/**
 * Says when the message is to be tried again; return it or throw it.
 *
 * @param options `delayMs`, and `countsAsAttempt`
 * @throws InvalidOutcomeError for a delay that is not an integer, or over 366 days, and for unknown options
 */
export function retryLater(options: RetryLaterOptions): RetryLater {
  return new RetryLater(options);
}

/**
 * Says that the message is to be given up at once; return it or throw it.
 *
 * @param reason kept with the dead letter; text that is not empty
 * @throws InvalidOutcomeError without a reason
 */
export function deadLetter(reason: string): DeadLetter {
  return new DeadLetter(reason);
}

/** What a handler said, or how it failed. */
export type Outcome = Commit | RetryLater | DeadLetter | Failure;

/** An attempt that failed. */
export class Failure {
  readonly kind = 'failure';
  constructor(readonly error: unknown) {}
}

/** The outcome that a value is; undefined for any other value, also for one that throws at whoever looks at it. */
function outcomeIn(value: unknown): Commit | RetryLater | DeadLetter | undefined {
  try {
    if (value instanceof Commit || value instanceof RetryLater || value instanceof DeadLetter) return value;
  } catch {
    // A proxy.
  }
  return undefined;
}

/** Whether a value is one of the three outcomes. */
export function isOutcome(value: unknown): boolean {
  return outcomeIn(value) !== undefined;
}

/** What a handler has said by what it returned: any other value than an outcome says that the message was handled. */
export function outcomeOf(value: unknown): Outcome {
  return value === undefined ? COMMIT : (outcomeIn(value) ?? COMMIT);
}

/** What a handler has said by what it threw: never that the message was handled. */
export function outcomeOfThrown(thrown: unknown): Outcome {
  const outcome = outcomeIn(thrown);
  return outcome === undefined || outcome.kind === 'commit' ? new Failure(thrown) : outcome;
}
