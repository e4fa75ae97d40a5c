import { Delivery } from '../src/consumer/delivery';
import { Session } from '../src/consumer/session';
import type { TakenEntry } from '../src/consumer/take-answer';

/** Makes a message that a session has taken, whose outcomes a test collects. */
export function messageOf(
  settler: object,
  entry: Partial<TakenEntry> = {},
  { session = new Session(), isOrdered = false } = {},
): Delivery {
  const origin = { stream: 'orders', group: 'mail', idPrefix: '0:', isOrdered };
  const whole: TakenEntry = {
    id: '1-0',
    key: '',
    operation: '',
    attempt: 1,
    firstSeenMs: 5,
    payload: '{"a":1}',
    ...entry,
  };
  const delivery = new Delivery({ origin, settler: settler as never }, whole, session);
  session.held.set(whole.id, delivery);
  return delivery;
}
