import { Logger } from '@nestjs/common';
import { deadLetter, retryLater, type StreamConsumerOptions, type StreamMessage } from 'luanest/stream-consumer';
import { KeySpace } from 'luanest/script-registry';
import { ClosedError, LostError, TimeoutError } from '../../internal/src';
import { eventually } from '../../../test/support/wait';
import { Layouts } from '../src/buckets/layout';
import { PayoutRunner } from '../src/payouts/payout-runner';
import { ownerOf } from '../src/payouts/payout-row';
import type { Payout, PayoutHandler } from '../src/payouts/payouts.types';

const layouts = new Layouts(new KeySpace('p', 'red-packet'), 16);
const keys = layouts.bucket('a', 1, 0);
const activity = ownerOf('a', 2_000, 1, 0);
const AGAIN = { kind: 'retry-later', delayMs: 0, countsAsAttempt: false };

/** A run whose stream-consumer and Redis are objects of the test. The run makes 3 attempts. */
class Bench {
  readonly lines: string[] = [];
  readonly calls: unknown[] = [];
  /** Errors of the next calls. */
  readonly errors: Error[] = [];
  buried: 'buried' | 'none' | 'forgotten' = 'buried';
  options: StreamConsumerOptions | undefined;
  handle: (message: StreamMessage) => Promise<unknown> = () => Promise.reject(new Error('not started'));
  readonly run: PayoutRunner;
  private readonly controller = new AbortController();

  constructor(handler: PayoutHandler) {
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((line: string) => void this.lines.push(line));
    const call = async <T>(result: T, ...what: unknown[]): Promise<T> => {
      await Promise.resolve();
      const error = this.errors.shift();
      if (error !== undefined) throw error;
      this.calls.push(what);
      return result;
    };
    const outboxes = {
      settle: (_: unknown, id: string) => call(undefined, 'settle', id),
      bury: (_: unknown, id: string, why: object) => call(this.buried, 'bury', id, why),
      wake: () => Promise.resolve(),
    };
    const streams = {
      handle: async (options: StreamConsumerOptions, handle: (message: StreamMessage) => Promise<unknown>) => {
        await call(undefined, 'handle');
        [this.options, this.handle] = [options, handle];
        return { stop: () => call(undefined, 'stop') };
      },
    };
    const list = { compareStored: () => call(undefined, 'compare') };
    const activities = { layouts, list, outboxes, replicated: { replicas: 0 } } as never;
    const registry = { listen: () => Promise.resolve(() => undefined) } as never;
    this.run = new PayoutRunner(registry, activities, streams as never, { name: 's' }, handler, { attempts: 3 });
  }

  async start(): Promise<this> {
    this.run.start();
    await eventually(() => expect(this.options).toBeDefined());
    this.calls.length = 0;
    return this;
  }

  abort(reason: Error): void {
    this.controller.abort(reason);
  }

  pay(attempt = 1, payload: unknown = { activity, user: 'u', grant: '7:120:1' }): Promise<unknown> {
    const partition = layouts.outboxes.indexOf(keys.outbox);
    const { signal } = this.controller;
    const message = { stream: 's', id: `${partition}:5-1`, payload, attempt, firstSeenAtMs: 9, signal };
    return this.handle(message as unknown as StreamMessage);
  }
}

const opened = (handler: PayoutHandler) => new Bench(handler).start();
const bury = (problem: string, attempts: number) => ['bury', '5-1', { problem, attempts, firstSeenMs: 9 }];

/** Throws, as a handler may, a value that is not an error. */
function thrown(value: unknown): never {
  throw value;
}

afterEach(() => jest.restoreAllMocks());

it('a payout is given to the handler, with a key that stays the same, and settled', async () => {
  const paid: Payout[] = [];
  const bench = await opened((payout) => void paid.push(payout));
  expect(await bench.pay(2)).toBeUndefined();
  expect(paid).toMatchObject([
    {
      activityId: 'a',
      activityKey: 'a@2000',
      userId: 'u',
      packetId: '7',
      amountCents: 120,
      grantedAtMs: 1,
      idempotencyKey: 'a@2000:7',
      attempt: 2,
    },
  ]);
  expect(bench.calls).toEqual([['settle', '5-1']]);
  await bench.run.stop();
});

it('an entry that no grab wrote is left to stream-consumer, which dead-letters it', async () => {
  const bench = await opened(() => undefined);
  expect(await bench.pay(1, { any: 'thing' })).toMatchObject({ kind: 'dead-letter' });
  expect(await bench.pay(1, null)).toMatchObject({ kind: 'dead-letter' });
  expect(bench.calls).toEqual([['compare'], ['compare']]);
});

it('an entry that a process with another number of partitions may pay is put back, and that is logged once', async () => {
  const bench = await opened(() => undefined);
  bench.errors.push(new Error('partitions is 16'), new Error('partitions is 16'));
  for (const attempt of [1, 9_999]) {
    expect(await bench.pay(attempt, { any: 'thing' })).toMatchObject({ delayMs: 1_000, countsAsAttempt: false });
  }
  expect(bench.calls).toEqual([]);
  expect(bench.lines).toEqual([expect.stringMatching(/tried again.*partitions is 16/)]);
});

it.each<[string, PayoutHandler, number, string]>([
  ['returns deadLetter', () => deadLetter('no account'), 1, 'no account'],
  ['throws deadLetter', () => thrown(deadLetter('no account')), 1, 'no account'],
  ['throws at the last attempt', () => Promise.reject(new RangeError('low\nfunds')), 3, 'RangeError: low funds'],
  ['throws a value at the last attempt', () => thrown('x'), 3, 'string: x'],
  ['asks for a retry at the last attempt', () => retryLater({ delayMs: 5 }), 3, 'the handler asked for a retry'],
  ['asks for a retry in an invalid way', () => retryLater({ delayMs: 'x' as never }), 1, 'InvalidInputError: retryLater(): delayMs is a string. Expected an integer from -9007199254740991 to 31622400000 ms.'], // prettier-ignore
])('a payout is moved to the dead letters of its bucket if the handler %s', async (_, handler, attempt, problem) => {
  const bench = await opened(handler);
  expect(await bench.pay(attempt)).toMatchObject({ kind: 'dead-letter', reason: problem });
  expect(bench.calls).toEqual([bury(problem, attempt)]);
  expect(bench.lines).toEqual([expect.stringMatching(/^Packet 7 of activity "a" was not paid/)]);
});

it('a payout whose attempts are used up by processes that died is dead-lettered without a call of the handler', async () => {
  const handler = jest.fn();
  const bench = await opened(handler);
  expect(await bench.pay(4)).toMatchObject({ kind: 'dead-letter' });
  expect(bench.calls).toEqual([['bury', '5-1', expect.objectContaining({ attempts: 3 })]]);
  expect(handler).not.toHaveBeenCalled();
});

it('a payout that Redis has forgotten the activity of is left to stream-consumer, which keeps it', async () => {
  const bench = await opened(() => deadLetter('no account'));
  bench.buried = 'forgotten';
  expect(await bench.pay()).toMatchObject({ kind: 'dead-letter', reason: 'no account' });
  expect(bench.lines).toEqual([]);
});

it.each<[string, PayoutHandler]>([
  ['uncounted retry', () => retryLater({ delayMs: 5, countsAsAttempt: false })],
  ['thrown retry', () => thrown(retryLater({ delayMs: 5, countsAsAttempt: false }))],
])('an %s stays one, also at the last attempt', async (_, handler) => {
  const bench = await opened(handler);
  expect(await bench.pay(3)).toMatchObject({ delayMs: 5, countsAsAttempt: false });
  expect(bench.calls).toEqual([]);
});

it('an attempt that fails before the last one is left to stream-consumer', async () => {
  const bench = await opened(() => Promise.reject(new Error('busy')));
  await expect(bench.pay(2)).rejects.toThrow('busy');
  expect(bench.calls).toEqual([]);
});

describe('how a handler ends after its signal was aborted does not count:', () => {
  const endings: [string, PayoutHandler][] = [
    ['returns', () => undefined],
    ['throws', () => thrown(new Error('stopped'))],
    ['throws an invalid outcome', () => retryLater({ delayMs: 'x' as never })],
    ['asks for a retry', () => retryLater({ delayMs: 5 })],
    ['returns deadLetter', () => deadLetter('stopped')],
    ['throws deadLetter', () => thrown(deadLetter('stopped'))],
  ];

  /** Pays a payout whose handler ends so, after its signal was aborted. */
  async function pay(reason: Error, handler: PayoutHandler, attempt: number): Promise<Bench & { paid: unknown }> {
    const bench: Bench = await opened((payout) => {
      bench.abort(reason);
      return handler(payout);
    });
    const paid = await bench.pay(attempt).catch((error: unknown) => error);
    return Object.assign(bench, { paid });
  }

  it.each(endings)('a payout that another process may own is left alone, if its handler %s', async (_, handler) => {
    for (const attempt of [1, 3]) {
      const { paid, calls, lines } = await pay(new LostError('lost'), handler, attempt);
      expect([paid, calls, lines]).toEqual([expect.objectContaining(AGAIN), [], []]);
    }
  });

  it.each(endings)('a handler that took too long and then %s has failed with the timeout', async (_, handler) => {
    const late = new TimeoutError('late');
    const first = await pay(late, handler, 1);
    expect([first.paid, first.calls]).toEqual([late, []]);
    const last = await pay(late, handler, 3);
    expect([last.paid, last.calls]).toEqual([
      expect.objectContaining({ kind: 'dead-letter' }),
      [bury('TimeoutError: late', 3)],
    ]);
  });

  it('but a timeout at the last attempt ends the payout, although the handler still runs', async () => {
    const bench = await opened(() => new Promise(() => undefined));
    const paying = bench.pay(3);
    bench.abort(new TimeoutError('late'));
    expect(await paying).toMatchObject({ kind: 'dead-letter' });
    expect(bench.calls).toEqual([bury('TimeoutError: late', 3)]);
  });
});

it('a settlement is repeated until Redis confirms it, and a failure is logged once', async () => {
  const bench = await opened(() => undefined);
  bench.errors.push(new Error('down'), new Error('down'));
  expect(await bench.pay()).toBeUndefined();
  expect(bench.calls).toEqual([['settle', '5-1']]);
  expect(bench.lines).toEqual([expect.stringMatching(/could not be stored, because a call to Redis failed.*down/)]);
});

it('a payout that was paid, and could not be settled before this process lost it, is not an attempt', async () => {
  const bench = await opened(() => undefined);
  bench.errors.push(...Array.from({ length: 99 }, () => new Error('down')));
  const paying = bench.pay();
  await eventually(() => expect(bench.lines).not.toEqual([]));
  bench.abort(new LostError('lost'));
  expect(await paying).toEqual(expect.objectContaining(AGAIN));
});

it('a run that cannot begin tries again, and says so once', async () => {
  const bench = new Bench(() => undefined);
  bench.errors.push(new Error('down'), new Error('down'));
  await bench.start();
  expect(bench.lines).toEqual([expect.stringMatching(/could not start, because a call to Redis failed.*down/)]);
  expect(bench.options).toMatchObject({ attempts: 10_000, group: 'payouts' });
  await bench.run.stop();
  expect(bench.calls).toEqual([['stop']]);
});

it('a run ends if stream-consumer is closed', async () => {
  const bench = new Bench(() => undefined);
  bench.errors.push(new ClosedError('closed'));
  bench.run.start();
  await eventually(() => expect(bench.run.stopped).toBe(true));
  await bench.run.stop();
  expect([bench.calls, bench.lines]).toEqual([[], []]);
});
