import { NotSentError, ScriptRefusedError, UnknownOutcomeError } from './errors';

/**
 * The calls to Redis of one operation. If a call had no effect, but another one of the operation may have had one, the error of the
 * operation is UnknownOutcomeError. The error of the call would wrongly show that nothing happened.
 */
export class Steps {
  private mayHaveChanged = false;

  /**
   * @param operation name for errors, such as `RedPacketService.close`
   * @param advice what the caller can do, as a sentence
   */
  constructor(
    private readonly operation: string,
    private readonly advice = 'Call it again: that is safe.',
  ) {}

  /** Waits for a call that changes data, or for several calls of which at least one changes data. */
  async one<T>(call: Promise<T>): Promise<T> {
    try {
      return await this.note(call);
    } catch (error) {
      throw this.errorOf(error);
    }
  }

  /** Waits until all of these calls have ended. Each changes data. @throws the error of the first one in the list that failed */
  async all<T>(calls: readonly Promise<T>[]): Promise<T[]> {
    const outcomes = await Promise.allSettled(calls.map((call) => this.note(call)));
    return outcomes.map((outcome) => {
      if (outcome.status === 'rejected') throw this.errorOf(outcome.reason);
      return outcome.value;
    });
  }

  /** Waits for calls that only read, or whose effect the caller does not see. */
  async read<T>(calls: Promise<T>): Promise<T> {
    try {
      return await calls;
    } catch (error) {
      throw this.errorOf(error);
    }
  }

  /** Waits for a call that changes data. Throws its error as it is: calls of the operation that still run may have an effect. */
  async note<T>(call: Promise<T>): Promise<T> {
    try {
      const result = await call;
      this.mayHaveChanged = true;
      return result;
    } catch (error) {
      this.mayHaveChanged ||= !hadNoEffect(error);
      throw error;
    }
  }

  /** Returns the error of the operation for the error of one of its calls. Call it when no call runs any more. */
  errorOf(error: unknown): Error {
    if (!this.mayHaveChanged) return error as Error;
    return afterEffect(
      error,
      `${this.operation} failed halfway: other calls to Redis may have had an effect`,
      this.advice,
    );
  }
}

/**
 * Returns UnknownOutcomeError for the error of a call that had no effect, because other parts of the operation may have had one.
 * Returns any other error as it is.
 *
 * @param before what may have happened before the call
 * @param advice what the caller can do, as a sentence
 */
export function afterEffect(error: unknown, before: string, advice: string): Error {
  if (!hadNoEffect(error)) return error as Error;
  return new UnknownOutcomeError(`${before}. ${error.code}: ${error.message} ${advice}`, { cause: error });
}

function hadNoEffect(error: unknown): error is NotSentError | ScriptRefusedError {
  return error instanceof NotSentError || error instanceof ScriptRefusedError;
}
