import { Logger } from '@nestjs/common';
import { of, throwError } from 'rxjs';
import { deadLetter, LostError, retryLater } from '../../internal/src';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { pending, type Pending, stateOf } from '../../../test/support/replies';
import { Attempt, Attempts, Calls, type Failure, WorkLog } from '../src';

class Job extends Attempt {
  readonly attempt = 1;
  readonly attempts = 3;
  readonly backoff = { delayMs: 0, factor: 1, maxDelayMs: 0 };

  constructor(readonly label: string) {
    super(time.now, Infinity, false);
  }

  lossOf(): LostError {
    return new LostError('lost');
  }
}

const time = new ManualTime();
let lines: string[];
beforeEach(() => {
  lines = [];
  const note = (text: unknown): void => void lines.push(String(text));
  jest.spyOn(Logger.prototype, 'warn').mockImplementation(note);
  jest.spyOn(Logger.prototype, 'error').mockImplementation(note);
});
afterEach(() => {
  jest.restoreAllMocks();
});

/** Attempts of a worker with two slots, whose handler is given. Their outcomes are answered when a test calls `forget`. */
function open(handler: (job: Job) => unknown, limits: object = {}) {
  const outcomes: unknown[][] = [];
  const work = {
    call: handler,
    succeed: ({ label }: Job, value: unknown) => void outcomes.push([label, 'done', value]),
    fail: ({ label }: Job, { verdict, text }: Failure) => void outcomes.push([label, verdict, text]),
  };
  const all = { concurrency: 2, drainMs: 1_000, abortGraceMs: 200, ...limits };
  const attempts = new Attempts<Job>(work, all, new WorkLog('Test', 'jobs'));
  const begin = (label: string, timeoutMs = 500): Job => {
    const job = new Job(label);
    attempts.capacity.grab(1);
    attempts.begin(job, timeoutMs);
    return job;
  };
  return { attempts, outcomes, begin };
}

describe('a handler', () => {
  const hostile = new Proxy(
    {},
    {
      get: () => undefined,
      has: () => {
        throw new Error('no');
      },
    },
  );

  const untyped = new Proxy(
    {},
    {
      getPrototypeOf: () => {
        throw new Error('no');
      },
    },
  );

  it.each([
    ['nothing', () => undefined, undefined],
    ['a value', () => 5, 5],
    ['a promise', () => Promise.resolve(5), 5],
    ['a thenable', () => ({ then: (tell: (value: number) => void) => tell(7) }), 7],
    ['an Observable, of which the last value counts', () => of(1, 2, 3), 3],
    ['a proxy whose type cannot be read', () => untyped, untyped],
    ['a promise of a proxy that throws', () => Promise.resolve().then(() => hostile), undefined],
  ])('that returns %s has succeeded, and frees its slot', async (_title, handler, value) => {
    const { attempts, outcomes, begin } = open(handler);
    begin('a');
    await turn();
    expect([outcomes.map(([label, kind]) => [label, kind]), attempts.running]).toEqual([[['a', 'done']], 0]);
    expect([outcomes[0]?.[2] === value, attempts.capacity.free]).toEqual([true, 2]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('torn');
      },
      'Error: torn',
    ],
    ['rejects', () => Promise.reject(new Error('torn')), 'Error: torn'],
    ['returns an Observable that fails', () => throwError(() => new Error('torn')), 'Error: torn'],
    ['returns retryLater()', () => retryLater({ delayMs: 5 }), 'the handler asked for another attempt'],
  ])('that %s is retried', async (_title, handler, text) => {
    const { attempts, outcomes, begin } = open(handler);
    begin('a');
    await turn();
    expect([outcomes, attempts.capacity.free]).toEqual([[['a', 'retry', text]], 2]);
  });

  it('may give up', () => {
    const { outcomes, begin } = open(() => {
      throw deadLetter('hopeless') as unknown as Error;
    });
    begin('a');
    expect(outcomes).toEqual([['a', 'dead-letter', 'hopeless']]);
  });
});

describe('a handler that takes too long', () => {
  it('gets its signal first, and is given up after abortGraceMs', async () => {
    const { outcomes, begin } = open(() => new Promise(() => undefined));
    const job = begin('a');
    await time.pass(499);
    expect(job.signal.aborted).toBe(false);
    await time.pass(1);
    const message = 'The handler of a did not end within 500 ms (timeoutMs).';
    expect(job.signal.reason).toMatchObject({ code: 'TIMEOUT', message });
    await time.pass(199);
    expect(outcomes).toEqual([]);
    await time.pass(1);
    expect(outcomes).toEqual([['a', 'retry', `TimeoutError: ${message}`]]);
  });

  it('may still succeed within abortGraceMs, and fails with the timeout', async () => {
    const [first, second] = [pending<number>(), pending<number>()];
    const { outcomes, begin } = open(({ label }) => (label === 'a' ? first.promise : second.promise));
    begin('a');
    begin('b');
    await time.pass(500);
    first.resolve(5);
    second.reject(new Error('aborted'));
    await turn();
    expect(outcomes).toEqual([
      ['a', 'done', 5],
      ['b', 'retry', 'TimeoutError: The handler of b did not end within 500 ms (timeoutMs).'],
    ]);
  });

  it.each<[string, (work: Pending<number>) => void]>([
    ['success', (work) => work.resolve(5)],
    ['failure', (work) => work.reject(new Error('late'))],
  ])('keeps its slot until it ends, which is logged, and its later %s is ignored', async (_outcome, end) => {
    const work = pending<number>();
    const { attempts, outcomes, begin } = open(() => work.promise);
    const job = begin('a');
    await time.pass(700);
    expect(outcomes).toHaveLength(1);
    attempts.forget(job);
    expect([attempts.all, attempts.running, attempts.capacity.free]).toEqual([[], 1, 1]);
    await time.pass(60_000);
    const line =
      'jobs: 1 of 2 handlers that may run at once (concurrency) still run after their timeoutMs and abortGraceMs, so fewer others ' +
      'can run: a. Let these handlers stop when their signal is aborted, or raise timeoutMs.';
    expect(lines).toEqual([line, line]);
    end(work);
    await time.pass(60_000);
    expect([lines.length, time.running]).toEqual([2, []]);
    expect([outcomes.length, attempts.running, attempts.capacity.free]).toEqual([1, 0, 2]);
  });

  it('needs one timer for all attempts, which lets the process end, and an idle worker has none', async () => {
    const { attempts, begin } = open(() => undefined);
    expect(time.running).toEqual([]);
    const jobs = [begin('a'), begin('b')];
    expect([time.running, time.keepsProcess]).toEqual([[500], false]);
    for (const job of jobs) attempts.forget(job);
    await time.pass(500);
    expect(time.running).toEqual([]);
  });
});

describe('an attempt whose work is lost while its handler runs', () => {
  const lose = (job: Job): void => void Object.assign(job, { decided: true, orphaned: true });

  it('has no outcome, and keeps its slot until its handler ends, for which a shutdown waits', async () => {
    const work = pending<number>();
    const { attempts, outcomes, begin } = open(() => work.promise);
    lose(begin('a'));
    expect([attempts.all.length, attempts.running]).toEqual([1, 1]);
    const drained = attempts.drain(Promise.resolve(), new Calls(() => undefined), () => Promise.resolve());
    await time.pass(900);
    expect(await stateOf(drained)).toBe('pending');
    work.resolve(5);
    expect([await stateOf(drained), outcomes, attempts.running, attempts.all]).toEqual([undefined, [], 0, []]);
  });

  it('is not handed back, and ends with abortGraceMs', async () => {
    const { attempts, begin } = open(() => new Promise(() => undefined));
    lose(begin('a'));
    const handedBack: unknown[] = [];
    const drained = attempts.drain(Promise.resolve(), new Calls(() => undefined), (left) =>
      Promise.resolve(handedBack.push(...left)),
    );
    await time.pass(1_199);
    expect(await stateOf(drained)).toBe('pending');
    await time.pass(1);
    expect([await stateOf(drained), handedBack, attempts.running]).toEqual([undefined, [], 1]);
  });
});

it('slots that are reserved for work that is being taken are not running handlers', async () => {
  const work = pending<number>();
  const { attempts, begin } = open(() => work.promise);
  attempts.capacity.grab(1);
  expect(attempts.running).toBe(0);
  begin('a');
  expect([attempts.running, attempts.capacity.free]).toEqual([1, 0]);
  work.resolve(1);
  await turn();
  expect([attempts.running, attempts.capacity.free]).toEqual([0, 1]);
});

describe('a shutdown', () => {
  const calls = (): Calls<'settle'> => new Calls(() => undefined);

  it('waits for the handlers, for the replies to their outcomes, and for what takes work', async () => {
    const [work, taking] = [pending<number>(), pending<void>()];
    const { attempts, begin } = open(() => work.promise);
    const job = begin('a');
    const handedBack: unknown[] = [];
    const drained = attempts.drain(taking.promise, calls(), (left) => Promise.resolve(handedBack.push(...left)));
    work.resolve(5);
    expect(await stateOf(drained)).toBe('pending');
    attempts.forget(job);
    expect(await stateOf(drained)).toBe('pending');
    taking.resolve();
    expect([await stateOf(drained), handedBack, job.signal.aborted]).toEqual([undefined, [], false]);
  });

  it('fires the signals after drainMs, and hands back after abortGraceMs what has no outcome', async () => {
    const work = pending<number>();
    const { attempts, outcomes, begin } = open(({ label }) => (label === 'a' ? 1 : work.promise));
    const [done, job] = [begin('a'), begin('b', 60_000)] as const;
    const handedBack: unknown[] = [];
    const drained = attempts.drain(Promise.resolve(), calls(), (left) => {
      for (const each of [...left, done]) attempts.forget(each);
      return Promise.resolve(handedBack.push(...left));
    });
    await time.pass(999);
    expect(job.signal.aborted).toBe(false);
    await time.pass(1);
    expect([job.signal.reason, done.signal.aborted]).toEqual([expect.objectContaining({ code: 'CLOSED' }), false]);
    await time.pass(199);
    expect(handedBack).toEqual([]);
    await time.pass(1);
    expect([await stateOf(drained), handedBack]).toEqual([undefined, [job]]);
    // What the handler does after that has no effect.
    work.resolve(5);
    await turn();
    expect(outcomes).toEqual([['a', 'done', 1]]);
  });

  it('leaves no timer, also of a handler that has ended long before its timeout', async () => {
    const { attempts, begin } = open(() => 1);
    attempts.forget(begin('a', 300_000));
    await attempts.drain(Promise.resolve(), calls(), () => Promise.resolve());
    expect(time.running).toEqual([]);
  });

  it('waits up to 2 s for the last replies, also after it handed work back', async () => {
    const { attempts, begin } = open(() => 1, { drainMs: 0, abortGraceMs: 0 });
    const job = begin('a');
    const open_ = calls();
    const reply = pending<number>();
    const settling = open_.untilAnswered('settle', () => reply.promise);
    const drained = attempts.drain(Promise.resolve(), open_, () => Promise.resolve());
    await time.pass(1_999);
    expect(await stateOf(drained)).toBe('pending');
    attempts.forget(job);
    reply.resolve(1);
    expect([await stateOf(drained), await settling]).toEqual([undefined, 1]);
  });

  it('waits up to 2 s for outcomes for which no call is in flight yet', async () => {
    const { attempts, begin } = open(() => 1, { drainMs: 0, abortGraceMs: 0 });
    const job = begin('a');
    const drained = attempts.drain(Promise.resolve(), calls(), () => Promise.resolve());
    await time.pass(1_999);
    expect(await stateOf(drained)).toBe('pending');
    attempts.forget(job);
    expect(await stateOf(drained)).toBeUndefined();
  });

  it.each<[string, (calls: Calls<'settle'>, work: Promise<void>) => unknown]>([
    ['a call that is repeated until it succeeds', (open_, work) => open_.untilAnswered('settle', () => work)],
    ['other work in flight, such as tasks that are handed back', (open_, work) => open_.track(work)],
  ])('waits up to 2 s for %s, although no attempt is left', async (_title, begin) => {
    for (const afterMs of [1_999, 2_000]) {
      const { attempts } = open(() => 1);
      const [open_, work] = [calls(), pending<void>()];
      void begin(open_, work.promise);
      const drained = attempts.drain(Promise.resolve(), open_, () => Promise.resolve());
      await turn();
      await time.pass(afterMs);
      expect(await stateOf(drained)).toBe(afterMs < 2_000 ? 'pending' : undefined);
      work.resolve();
      expect(await stateOf(drained)).toBeUndefined();
    }
  });

  it('waits up to 2 s for what takes work, also after drainMs, and for the work that it hands back then', async () => {
    const { attempts } = open(() => 1, { drainMs: 0, abortGraceMs: 0 });
    const [open_, taking, handedBack] = [calls(), pending<void>(), pending<void>()];
    const drained = attempts.drain(taking.promise, open_, () => Promise.resolve());
    await time.pass(1_000);
    expect(await stateOf(drained)).toBe('pending');
    open_.track(handedBack.promise);
    taking.resolve();
    await time.pass(999);
    expect(await stateOf(drained)).toBe('pending');
    handedBack.resolve();
    expect(await stateOf(drained)).toBeUndefined();
  });
});
