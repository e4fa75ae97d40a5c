import { Logger } from '@nestjs/common';
import type { Delivery } from '../src/consumer/handler-runner';
import { HandlerRunner } from '../src/consumer/handler-runner';
import { Calls, WorkLog } from '../../worker/src';
import type { TakenEntry } from '../src/consumer/consumer.scripts';
import { messageOf, sessionOf } from './taken-messages';

/** A HandlerRunner whose outcomes and log lines the test reads. */
export function openRunner(handler: (...args: unknown[]) => unknown, options: object = {}) {
  const [lines, outcomes]: [string[], unknown[][]] = [[], []];
  const counts = { freed: 0 };
  jest.spyOn(Logger.prototype, 'warn').mockImplementation((text: unknown) => void lines.push(`warn ${String(text)}`));
  jest.spyOn(Logger.prototype, 'error').mockImplementation((text: unknown) => void lines.push(`error ${String(text)}`));
  const session = sessionOf();
  const buried: { count: number | undefined } = { count: 1 };
  const outcome =
    (kind: string) =>
    (message: Delivery, ...args: unknown[]): Promise<number | undefined> => {
      outcomes.push([kind, message.id, ...args]);
      runner.attempts.forget(message);
      return Promise.resolve(buried.count);
    };
  const settler = { commit: outcome('commit'), retry: outcome('retry'), bury: outcome('bury') };
  const backoff = { delayMs: 100, factor: 2, maxDelayMs: 1_000 };
  const resolved = {
    concurrency: 9,
    stream: 'orders',
    group: 'mail',
    attempts: 3,
    timeoutMs: 500,
    backoff,
    ...options,
  };
  const limits = { drainMs: 1_000, abortGraceMs: 200 };
  const log = new WorkLog('StreamConsumer', 'Stream orders, group mail', ['MALFORMED_PAYLOAD']);
  const runner = new HandlerRunner(resolved as never, limits, handler, log, () => void (counts.freed += 1));
  const { attempts } = runner;
  const start = (entry: Partial<TakenEntry> = {}, isOrdered = false) => {
    const forget = (message: Delivery): void => attempts.forget(message);
    const message = messageOf(settler, entry, { session, isOrdered, forget, ...resolved });
    attempts.capacity.grab(1);
    runner.start(message);
    return message;
  };
  const stop = (): Promise<void> =>
    attempts.drain(Promise.resolve(), new Calls(() => undefined), (left) =>
      Promise.all(left.map((message) => runner.handBack(message))),
    );
  return { runner, attempts, start, stop, outcomes, lines, counts, session, buried };
}
