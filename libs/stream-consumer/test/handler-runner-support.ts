import { Logger } from '@nestjs/common';
import { HandlerRunner } from '../src/consumer/handler-runner';
import { Session } from '../src/consumer/session';
import type { TakenEntry } from '../src/consumer/take-answer';
import { messageOf } from './taken-messages';

/** A HandlerRunner whose outcomes and log lines the test reads. */
export function openRunner(handler: (...args: unknown[]) => unknown, options: object = {}) {
  const [lines, outcomes]: [string[], unknown[][]] = [[], []];
  const counts = { ended: 0 };
  jest.spyOn(Logger.prototype, 'warn').mockImplementation((text: unknown) => void lines.push(`warn ${String(text)}`));
  jest.spyOn(Logger.prototype, 'error').mockImplementation((text: unknown) => void lines.push(`error ${String(text)}`));
  const session = new Session();
  const buried: { count: number | undefined } = { count: 1 };
  const outcome =
    (kind: string) =>
    (message: { id: string }, ...args: unknown[]): Promise<number | undefined> => {
      outcomes.push([kind, message.id, ...args]);
      return Promise.resolve(buried.count);
    };
  const settler = { commit: outcome('commit'), retry: outcome('retry'), bury: outcome('bury') };
  const backoff = { delayMs: 100, factor: 2, maxDelayMs: 1_000 };
  const resolved = { stream: 'orders', group: 'mail', attempts: 3, timeoutMs: 500, backoff, ...options };
  const runner = new HandlerRunner(resolved as never, handler, () => void (counts.ended += 1));
  const start = (entry: Partial<TakenEntry> = {}, isOrdered = false) => {
    const message = messageOf(settler, entry, { session, isOrdered });
    runner.start(message);
    return message;
  };
  return { runner, start, outcomes, lines, counts, session, buried };
}
