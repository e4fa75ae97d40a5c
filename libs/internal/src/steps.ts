import { NotSentError, ScriptRefusedError, UnknownOutcomeError } from './errors';

/**
 * Chooses the error of an operation that makes several calls to Redis. If one call fails without an effect, but another call may have
 * changed something, the operation fails with UnknownOutcomeError. The error of the failed call would wrongly show that nothing happened.
 */
export class Steps {
  private mayHaveChanged = false;

  /**
   * @param operation name of the operation in errors, such as `RedPacketService.close`
   * @param advice sentence for the error that says what the caller can do
   */
  constructor(
    private readonly operation: string,
    private readonly advice = `Call ${operation} again: that is safe.`,
  ) {}

  /** Waits for a call that may change data, or for several such calls. */
  async one<T>(call: Promise<T>): Promise<T> {
    try {
      return await this.note(call);
    } catch (error) {
      throw this.errorOf(error);
    }
  }

  /**
   * Waits until all of these calls have ended. Each of them may change data. @throws the error of the first call in the list that failed
   */
  async all<T>(calls: readonly Promise<T>[]): Promise<T[]> {
    const outcomes = await Promise.allSettled(calls.map((call) => this.note(call)));
    return outcomes.map((outcome) => {
      if (outcome.status === 'rejected') throw this.errorOf(outcome.reason);
      return outcome.value;
    });
  }

  /** Waits for a call that only reads, or whose changes do not matter to the caller. */
  async read<T>(calls: Promise<T>): Promise<T> {
    try {
      return await calls;
    } catch (error) {
      throw this.errorOf(error);
    }
  }

  /**
   * Waits for a call that changes data, and remembers if it may have had an effect. A failed call throws its own error, because other calls
   * may still run. Pass that error to `errorOf` later.
   */
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

  /** Returns the error of the operation for the error of one of its calls. Call it when all calls of the operation have ended. */
  errorOf(error: unknown): Error {
    if (!this.mayHaveChanged) return error as Error;
    return afterEffect(
      error,
      `${this.operation} failed halfway: one of its calls to Redis failed, and others may have had an effect`,
      this.advice,
    );
  }
}

/**
 * Returns UnknownOutcomeError for an error that proves that a call had no effect, because other parts of the operation may have had one.
 * Returns any other error unchanged.
 *
 * @param before text that says what may have happened before the call
 * @param advice sentence for the error that says what the caller can do
 */
export function afterEffect(error: unknown, before: string, advice: string): Error {
  if (!hadNoEffect(error)) return error as Error;
  return new UnknownOutcomeError(`${before}. ${error.code}: ${error.message} ${advice}`, { cause: error });
}

function hadNoEffect(error: unknown): error is NotSentError | ScriptRefusedError {
  return error instanceof NotSentError || error instanceof ScriptRefusedError;
}
