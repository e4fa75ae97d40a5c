import { AsyncLocalStorage } from 'node:async_hooks';
import type { ExternalContextCreator } from '@nestjs/core';
import { disguise, type Method } from '../../../internal/src';
import { PARAMETER_TYPES, PARAMETERS } from '../stream-consumer.decorator';
import { InvalidOutcomeError } from '../stream-consumer.errors';
import type { StreamMessage } from '../stream-consumer.types';
import { isOutcome } from './outcome';

type Running = (...args: unknown[]) => Promise<unknown>;

const CONTEXT = 'stream';

/** What parameters of a handler get. */
const parameters = {
  exchangeKeyForValue(type: number, data: unknown, [message]: unknown[]): unknown {
    if (type !== PARAMETER_TYPES.payload) return message;
    const { payload } = message as StreamMessage<Record<string, unknown> | null>;
    return typeof data === 'string' ? payload?.[data] : payload;
  },
};

/** What the method itself did in one call, whatever its enhancers make of that. */
interface Witness {
  ran: boolean;
  result: unknown;
}

/**
 * A method as a handler with its guards, pipes, interceptors and filters, in a context of type `stream`.
 *
 * Only the method itself commits by resolving with nothing. Interceptors may replace its result by another outcome; what
 * else they make of it is not looked at. An error that reaches the filters is a failure unless a filter answers with an
 * outcome: most filters answer nothing, which says nothing of the message.
 * See DECISIONS.md: method-decides-the-outcome
 */
export function enhance(
  contexts: ExternalContextCreator,
  instance: object,
  name: string,
): (message: StreamMessage) => Promise<unknown> {
  const method = (instance as Record<string, object>)[name] as object;
  const storage = new AsyncLocalStorage<Witness>();
  const handler = disguise(
    async (...args) => {
      const witness = storage.getStore();
      const now = (instance as Record<string, unknown>)[name];
      if (typeof now !== 'function') throw gone(instance, name);
      const result: unknown = await (now as Method).apply(instance, args);
      if (witness) Object.assign(witness, { ran: true, result });
      return result;
    },
    method,
    name,
  );
  const thrower = disguise(
    (_message, error) => {
      throw error;
    },
    method,
    name,
  );
  const create = (callback: Method, key: string, factory: typeof parameters | undefined, filters: boolean): Running => {
    const options = { guards: !filters, interceptors: !filters, filters };
    const none = undefined;
    return contexts.create(instance, callback, name, key, factory, none, none, options, CONTEXT) as Running;
  };
  const run = create(handler, PARAMETERS, parameters, false);
  const net = create(thrower, '', undefined, true);
  const enhanced = async (message: StreamMessage): Promise<unknown> => {
    const witness: Witness = { ran: false, result: undefined };
    let outer: unknown;
    try {
      outer = await storage.run(witness, () => run(message));
    } catch (error) {
      if (isOutcome(error)) throw error;
      const answer = await net(message, error);
      if (isOutcome(answer)) return answer;
      throw error;
    }
    if (isOutcome(outer)) return outer;
    if (witness.ran) return witness.result;
    throw new InvalidOutcomeError(
      `An interceptor answered for ${instance.constructor.name}.${name}, which did not run. ` +
        `Return commit(), retryLater({ delayMs }) or deadLetter(reason).`,
    );
  };
  // What logs call it.
  return Object.defineProperty(enhanced, 'name', { value: `${instance.constructor.name}.${name}` });
}

function gone(instance: object, name: string): InvalidOutcomeError {
  return new InvalidOutcomeError(`${instance.constructor.name}.${name} is not a function any more.`);
}
