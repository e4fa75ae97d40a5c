import { UNFINISHED } from 'luanest/script-registry';
import { isIntegerOf } from '../../../script-registry/src/shared/checks';
import { InvalidStreamInputError } from '../stream-consumer.errors';

const MAX_DELAY_MS = 366 * 86_400_000;

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
  /**
   * @param delayMs from now, ms; integer of 0 to a year
   * @throws InvalidStreamInputError for any other delay
   */
  constructor(readonly delayMs: number) {
    if (!isIntegerOf(delayMs, 0, MAX_DELAY_MS)) {
      throw new InvalidStreamInputError(
        `retryLater(${String(delayMs)}): give ms as an integer of 0 to ${MAX_DELAY_MS}.`,
      );
    }
    Object.freeze(this);
  }
}

/** The message is to be given up. */
export class DeadLetter {
  readonly kind = 'dead-letter';
  readonly [UNFINISHED] = true;
  /**
   * @param reason text that is not empty
   * @throws InvalidStreamInputError without one
   */
  constructor(readonly reason: string) {
    if (typeof reason !== 'string' || reason === '') {
      throw new InvalidStreamInputError(
        `deadLetter(${String(reason)}): give a reason, it is kept with the dead letter.`,
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
 * Says when the message is to be tried again; return it or throw it. The attempt counts.
 *
 * @param delayMs from now, ms; integer of 0 to a year
 * @throws InvalidStreamInputError for any other delay
 */
export function retryLater(delayMs: number): RetryLater {
  return new RetryLater(delayMs);
}

/**
 * Says that the message is to be given up at once; return it or throw it.
 *
 * @param reason kept with the dead letter; text that is not empty
 * @throws InvalidStreamInputError without a reason
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

function isSaying(value: unknown): value is RetryLater | DeadLetter {
  return value instanceof RetryLater || value instanceof DeadLetter;
}

/** What `look` finds, or a failure where a hostile object, such as a proxy, throws at whoever looks at it. */
function looked(look: () => Outcome): Outcome {
  try {
    return look();
  } catch (error) {
    return new Failure(error);
  }
}

/** What a handler has said by what it resolved with. Anything but nothing and the three outcomes is a failure. */
export function outcomeOf(value: unknown): Outcome {
  return value === undefined ? COMMIT : looked(() => outcomeOfValue(value));
}

/** What a handler has said by what it threw: never that the message was handled. */
export function outcomeOfThrown(thrown: unknown): Outcome {
  return looked(() => (isSaying(thrown) ? thrown : new Failure(thrown)));
}

function outcomeOfValue(value: unknown): Outcome {
  if (value instanceof Commit) return COMMIT;
  if (isSaying(value)) return value;
  return new Failure(
    new InvalidStreamInputError(
      `The handler resolved with ${describe(value)}. Resolve with nothing, commit(), retryLater(ms) or deadLetter(reason).`,
    ),
  );
}

function describe(value: unknown): string {
  if (value === null) return 'null';
  return typeof value === 'object' ? `an object of ${value.constructor?.name ?? 'no class'}` : `a ${typeof value}`;
}
