import { Delivery } from '../src/consumer/handler-runner';
import { Session } from '../src/consumer/session';
import type { TakenEntry } from '../src/consumer/consumer.scripts';

/** Makes a session of no reader, which notes why it is lost. */
export function sessionOf(leaseMs = 30_000): Session & { readonly losses: string[] } {
  const losses: string[] = [];
  const owner = {
    renew: () => Promise.resolve(true),
    rest: () => undefined,
    lose: (_: Session, reason: string) => void losses.push(reason),
  };
  return Object.assign(new Session(owner, leaseMs), { losses });
}

interface TakenWith {
  readonly session?: Session;
  readonly isOrdered?: boolean;
  readonly attempts?: number;
  readonly backoff?: { delayMs: number; factor: number; maxDelayMs: number };
  readonly forget?: (delivery: Delivery) => void;
}

/** Makes a message that a session has taken, whose outcomes a test collects. */
export function messageOf(
  settler: object,
  entry: Partial<TakenEntry> = {},
  { session = sessionOf(), isOrdered = false, attempts = 3, ...more }: TakenWith = {},
): Delivery {
  const origin = { stream: 'orders', group: 'mail', idPrefix: '0:', isOrdered };
  const whole: TakenEntry = {
    id: '1-0',
    key: '',
    operation: '',
    attempt: 1,
    returned: 0,
    firstSeenMs: 5,
    takenMs: 5,
    payload: '{"a":1}',
    ...entry,
  };
  const { backoff = { delayMs: 100, factor: 2, maxDelayMs: 1_000 }, forget = () => undefined } = more;
  const reader = { origin, settler: settler as never, options: { attempts, backoff }, forget };
  const delivery = new Delivery(reader, whole, session);
  session.messages.set(whole.id, delivery);
  return delivery;
}
