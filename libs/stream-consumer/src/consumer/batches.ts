import { isObservable, lastValueFrom } from 'rxjs';
import { InvalidInputError, nextTurn } from '../../../internal/src';
import type { StreamMessage } from '../stream-consumer.types';
import type { Invoke } from './handler-runner';

export type InvokeBatch = (messages: readonly StreamMessage[]) => unknown;

/** A message that waits until its batch is passed to the handler. `resolve` or `reject` ends the attempt to handle the message. */
interface Waiting {
  readonly message: StreamMessage;
  readonly resolve: (outcome: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Returns one result per message from what a handler of batches has returned.
 *
 * @throws InvalidInputError for an array of another length
 */
function outcomesOf(result: unknown, count: number): readonly unknown[] {
  if (!Array.isArray(result)) return Array<unknown>(count).fill(result);
  if (result.length === count) return result;
  throw new InvalidInputError(
    `The handler of a batch of ${count} messages returned an array of ${result.length} values. Expected nothing, one ` +
      `retryLater() or deadLetter() for the whole batch, or an array with one result for each of the ${count} messages.`,
    { code: 'INVALID_OUTCOME' },
  );
}

async function run(invoke: InvokeBatch, batch: readonly Waiting[]): Promise<void> {
  try {
    const returned = await invoke(batch.map(({ message }) => message));
    const result = isObservable(returned) ? await lastValueFrom(returned, { defaultValue: undefined }) : returned;
    const outcomes = outcomesOf(result, batch.length);
    batch.forEach(({ resolve }, i) => resolve(outcomes[i]));
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}

/**
 * Makes a handler of single messages from a handler of batches. A batch consists of the messages that start in the same turn of the event
 * loop, so no message waits for later ones. Each message keeps an attempt and a result of its own.
 * See DECISIONS.md: batch-is-made-of-attempts
 */
export function inBatches(size: number, invoke: InvokeBatch): Invoke {
  const waiting: Waiting[] = [];
  const flush = (): void => {
    const batch = waiting.splice(0);
    if (batch.length > 0) void run(invoke, batch);
  };
  const one: Invoke = (message) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) nextTurn(flush);
      waiting.push({ message, resolve, reject });
      if (waiting.length === size) flush();
    });
  return Object.defineProperty(one, 'name', { value: invoke.name });
}
