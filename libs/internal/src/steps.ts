import { NotSentError, ScriptRefusedError, UnknownOutcomeError } from './errors';

/**
 * Calls to Redis that one operation makes. Decides with which error the operation fails. If a call fails without an effect, but another
 * call of the operation may have had an effect, this is UnknownOutcomeError. The error of the call itself would wrongly show that nothing
 * happened.
 */
export class Steps {
  private mayHaveChanged = false;

  /**
   * @param operation name of the operation in errors, such as `RedPacketService.close`
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

  /** Waits until all of these calls have ended. Each of them changes data. @throws the error for the first call in the list that failed */
  async all<T>(calls: readonly Promise<T>[]): Promise<T[]> {
    const outcomes = await Promise.allSettled(calls.map((call) => this.note(call)));
    return outcomes.map((outcome) => {
      if (outcome.status === 'rejected') throw this.errorOf(outcome.reason);
      return outcome.value;
    });
  }

  /** Waits for calls that only read, or whose effects do not matter to the caller. */
  async read<T>(calls: Promise<T>): Promise<T> {
    try {
      return await calls;
    } catch (error) {
      throw this.errorOf(error);
    }
  }

  /**
   * Waits for a call that changes data, and records if it may have had an effect. If the call fails, throws the error of the call
   * unchanged, because other calls of the operation may still run. Pass this error to `errorOf` later.
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

  /** Returns the error of the operation for the error of one of its calls. Call this method when all calls of the operation have ended. */
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
 * Returns UnknownOutcomeError if `error` shows that a call had no effect, because other parts of the operation may have had an effect.
 * Returns any other error unchanged.
 *
 * @param before text that says what may have happened before the call
 * @param advice what the caller can do, as a sentence
 */
export function afterEffect(error: unknown, before: string, advice: string): Error {
  if (!hadNoEffect(error)) return error as Error;
  return new UnknownOutcomeError(`${before}. ${error.code}: ${error.message} ${advice}`, { cause: error });
}

function hadNoEffect(error: unknown): error is NotSentError | ScriptRefusedError {
  return error instanceof NotSentError || error instanceof ScriptRefusedError;
}
