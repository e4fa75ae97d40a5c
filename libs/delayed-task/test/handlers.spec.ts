import { Logger } from '@nestjs/common';
import { of, throwError } from 'rxjs';
import { deadLetter, type DelayedTaskService, defineTask, retryLater } from 'luanest/delayed-task';
import type { TaskHandler } from '../src/delayed-task.types';
import { eventually, sleep } from '../../../test/support/wait';
import { Gate, inventory, listen, openBench, redisNow, servers, type Bench } from './support';

const standaloneClient = (servers[0] as (typeof servers)[0])[1];
const cyclic: Record<string, unknown> = {};
cyclic['self'] = cyclic;

/** Throws when its type is read, except by `await`. */
const hostile = new Proxy(
  {},
  {
    get: () => undefined,
    has: () => {
      throw new Error('no');
    },
    getPrototypeOf: () => {
      throw new Error('no');
    },
  },
);

/** Outlasts a machine that stands still for some seconds, also between a renewal that is due and the end of the lease. */
const LEASE_MS = 6_000;

/** Handlers that do not do their task, and what the dead letter says. */
const failures: [string, TaskHandler, RegExp][] = [
  [
    'throws',
    () => {
      throw new TypeError('torn');
    },
    /^TypeError: torn$/,
  ],
  ['rejects', () => Promise.reject(new Error('torn')), /^Error: torn$/],
  // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
  ['rejects with no error', () => Promise.reject('nothing\nbut text'), /^thrown: nothing but text$/],
  ['rejects with what cannot be shown', () => Promise.reject(Object.create(null) as Error), /cannot be shown/],
  // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
  ['rejects with a proxy that throws', () => Promise.reject(hostile), /throws when it is read/],
  ['hangs', () => new Promise(() => undefined), /^TimeoutError: .*did not end within \d+ ms/],
  ['gives an Observable that fails', () => throwError(() => new Error('torn')), /^Error: torn$/],
  ['is a thenable that never answers', () => ({ then() {} }), /^TimeoutError/],
];

/** Results that cannot be kept, and the error of the task. */
const strange: [string, TaskHandler, RegExp][] = [
  ['a function', () => () => 1, /^InvalidInputError: .*function/],
  ['a symbol', () => Symbol('x'), /^InvalidInputError: .*symbol/],
  ['a BigInt', () => 1n, /^InvalidInputError: .*BigInt/],
  ['a cycle', () => Promise.resolve(cyclic), /^InvalidInputError: .*circular/],
  ['too much', () => 'x'.repeat(100_000), /^InvalidInputError: .*100002 bytes/],
];

describe('a handler', () => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await openBench(standaloneClient(), {
      leaseMs: LEASE_MS,
      backoff: { delayMs: 60, factor: 2 },
      timeoutMs: 80,
      work: true,
    });
  });
  afterEach(() => bench.close());

  it.each(failures)('that %s is retried, then its task is a dead letter', async (_title, handler, says) => {
    const settled = listen('attemptSettled');
    const starts: { attempt: number; at: number }[] = [];
    bench.tasks.handle('bad', (payload, task) => {
      starts.push({ attempt: task.attempt, at: performance.now() });
      return handler(payload, task);
    });
    bench.work();
    const asked = { id: 'a', attempts: 3, keepResultMs: 60_000 };
    await bench.tasks.schedule('bad', { kept: true }, asked);
    const dead = await eventually(async () => {
      const [task] = (await bench.tasks.deadLetters()).items;
      if (!task) throw new Error('not dead yet');
      return task;
    });
    expect(dead).toMatchObject({ id: 'a', name: 'bad', payload: { kept: true }, attemptsMade: 3, attempts: 3 });
    expect(dead.error).toMatch(says);
    await eventually(() =>
      expect(settled.events.map(({ status, attempt }) => `${status} ${attempt}`)).toEqual([
        'retried 1',
        'retried 2',
        'dead 3',
      ]),
    );
    expect(await bench.tasks.get('a')).toMatchObject({ state: 'dead', attemptsMade: 3, result: undefined });
    expect(starts.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    const pauses = starts.slice(1).map(({ at }, i) => at - (starts[i]?.at ?? 0));
    expect(pauses[0]).toBeGreaterThanOrEqual(29);
    expect(pauses[1]).toBeGreaterThanOrEqual(59);
    expect(await inventory(bench)).toEqual({ due: [], leased: [], dead: ['a'], problems: [] });
    settled.stop();
  });

  it.each([
    ['undefined', () => undefined, undefined],
    ['null', () => null, null],
    ['JSON', () => ({ a: [1, 'x'] }), { a: [1, 'x'] }],
    ['a proxy that throws', () => Promise.resolve().then(() => hostile), undefined],
    ['a thenable', () => ({ then: (tell: (value: number) => void) => tell(7) }), 7],
    ['an Observable, of which the last value counts', () => of(1, 2, 3), 3],
  ] as [string, TaskHandler, unknown][])('that returns %s has done its task', async (_title, handler, result) => {
    bench.tasks.handle('good', handler);
    bench.work();
    await bench.tasks.schedule('good', 1, { id: 'a', keepResultMs: 60_000 });
    await eventually(async () => expect((await bench.tasks.get('a'))?.state).toBe('done'));
    expect((await bench.tasks.get('a'))?.result).toEqual(result);
    expect((await inventory(bench)).problems).toEqual([]);
  });

  it.each(strange)(
    'one that returns %s has done its task, whether the result is kept or not',
    async (_title, handler, says) => {
      const warnings = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
      const settled = listen('attemptSettled');
      bench.tasks.handle('odd', handler);
      bench.work();
      await bench.tasks.schedule('odd', null, { id: 'a' });
      await bench.tasks.schedule('odd', null, { id: 'b', keepResultMs: 60_000 });
      await bench.tasks.schedule('odd', null, { id: 'c', keepResultMs: 60_000 });
      await eventually(() => expect(settled.events).toHaveLength(3));
      expect(settled.events.map(({ status }) => status)).toEqual(['done', 'done', 'done']);
      settled.stop();
      expect(await bench.tasks.get('a')).toBeUndefined();
      expect(await bench.tasks.get('b')).toMatchObject({
        state: 'done',
        result: undefined,
        error: expect.stringMatching(says) as string,
      });
      expect(await inventory(bench)).toEqual({ due: [], leased: [], dead: [], problems: [] });
      const lines = warnings.mock.calls.map(([line]) => String(line));
      expect(lines).toEqual([
        expect.stringMatching(/^Queue default: the result of task "odd" \(id "[bc]"\) was not stored: /),
      ]);
      warnings.mockRestore();
    },
  );

  it('that ignores its signal keeps its slot until it ends, so at most `concurrency` handlers run', async () => {
    const one = await openBench(standaloneClient(), {
      concurrency: 1,
      timeoutMs: 30,
      abortGraceMs: 10,
      backoff: { delayMs: 1 },
    });
    const settled = listen('attemptSettled');
    let [running, most] = [0, 0];
    one.tasks.handle('deaf', async (_payload, { attempt }) => {
      running += 1;
      most = Math.max(most, running);
      await eventually(() => expect(settled.events.length).toBeGreaterThanOrEqual(attempt));
      // Long enough for the next attempt, if there were a slot for it.
      await sleep(300);
      running -= 1;
    });
    one.work();
    await one.tasks.schedule('deaf', null, { id: 'a', attempts: 3 });
    await eventually(async () => expect((await one.tasks.stats()).dead).toBe(1));
    // Published when the worker has the reply.
    await eventually(() => expect(settled.events.map(({ status }) => status)).toEqual(['retried', 'retried', 'dead']));
    expect(most).toBe(1);
    // The slot comes back when the last one has ended.
    let other = false;
    one.tasks.handle('other', () => void (other = true));
    await one.tasks.schedule('other');
    await eventually(() => expect(other).toBe(true));
    expect(running).toBe(0);
    settled.stop();
    await one.close();
  });

  it('that obeys its signal has ended before its retry begins, and may still succeed', async () => {
    const log: string[] = [];
    // It ends after 150 ms of its grace, also where the machine stands still meanwhile.
    const options = { abortGraceMs: 60_000 };
    const open = (): Promise<Bench> => openBench(standaloneClient(), options, { prefix: bench.prefix });
    const workers = [await open(), await open()] as const;
    for (const { tasks } of workers) {
      tasks.handle(defineTask<string>({ name: 'tidy', timeoutMs: 80 }), async (ends, { signal, attempt }) => {
        log.push(`begins ${attempt}`);
        if (attempt > 1) return;
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        await new Promise((resolve) => setTimeout(resolve, 150));
        log.push(`ends ${attempt}`);
        if (ends === 'badly') throw new Error('aborted');
      });
    }
    const settled = listen('attemptSettled');
    for (const worker of workers) worker.work();
    await bench.tasks.schedule('tidy', 'badly', { id: 'a', backoff: { delayMs: 1 } });
    await eventually(() => expect(settled.events.map(({ status }) => status)).toEqual(['retried', 'done']));
    expect(log).toEqual(['begins 1', 'ends 1', 'begins 2']);
    expect(settled.events[0]?.error).toMatchObject({ code: 'TIMEOUT' });
    await bench.tasks.schedule('tidy', 'well', { id: 'b' });
    await eventually(() => expect(settled.events.map(({ status }) => status)).toEqual(['retried', 'done', 'done']));
    expect(log.slice(3)).toEqual(['begins 1', 'ends 1']);
    settled.stop();
    for (const worker of workers) await worker.close();
  });

  it('that takes too long gets the signal, and its later outcome changes nothing', async () => {
    const reasons: string[] = [];
    let finish: (() => void) | undefined;
    bench.tasks.handle('slow', (_payload, { signal, attempt }) => {
      if (attempt > 1) return undefined;
      signal.addEventListener('abort', () => reasons.push((signal.reason as Error).name));
      return new Promise<void>((resolve) => (finish = resolve));
    });
    const settled = listen('attemptSettled');
    bench.work();
    await bench.tasks.schedule('slow', null, { id: 'a' });
    await eventually(() => expect(settled.events.map(({ status }) => status)).toEqual(['retried', 'done']));
    finish?.();
    expect(reasons).toEqual(['TimeoutError']);
    expect(await bench.tasks.get('a')).toBeUndefined();
    expect(settled.events).toHaveLength(2);
    settled.stop();
  });

  it.each(['returned', 'thrown'])(
    'retryLater() sets the pause, and deadLetter() ends the attempts, if %s',
    async (how) => {
      const at: number[] = [];
      const give = (outcome: unknown): unknown => {
        if (how === 'thrown') throw outcome;
        return outcome;
      };
      bench.tasks.handle('later', (_payload, { attempt }) => {
        at.push(performance.now());
        return give(attempt === 1 ? retryLater({ delayMs: 200 }) : deadLetter('hopeless'));
      });
      bench.work();
      await bench.tasks.schedule('later', null, { id: 'a', attempts: 100 });
      await eventually(async () =>
        expect((await bench.tasks.deadLetters()).items).toMatchObject([{ id: 'a', error: 'hopeless' }]),
      );
      expect(at).toHaveLength(2);
      expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(199);
    },
  );

  it('retryLater() with countsAsAttempt: false spends no attempt, and is not a failure', async () => {
    const settled = listen('attemptSettled');
    const attempts: number[] = [];
    bench.tasks.handle('busy', (_payload, { attempt }) => {
      attempts.push(attempt);
      return attempts.length < 4 ? retryLater({ delayMs: 1, countsAsAttempt: false }) : retryLater({ delayMs: 1 });
    });
    bench.work();
    await bench.tasks.schedule('busy', null, { id: 'a', attempts: 2 });
    await eventually(async () =>
      expect((await bench.tasks.deadLetters()).items).toMatchObject([
        { id: 'a', error: 'the handler asked for another attempt' },
      ]),
    );
    expect(attempts).toEqual([1, 1, 1, 1, 2]);
    await eventually(() =>
      expect(settled.events.map(({ status, error }) => [status, error])).toEqual([
        ...Array.from({ length: 4 }, () => ['retried', undefined]),
        ['dead', undefined],
      ]),
    );
    settled.stop();
  });

  it('an invalid outcome dead-letters the task at once, because another attempt would make it again', async () => {
    bench.tasks.handle('bad', () => retryLater({ delayMs: 0.5 }));
    bench.work();
    await bench.tasks.schedule('bad', null, { id: 'a', attempts: 9 });
    await eventually(async () => expect((await bench.tasks.get('a'))?.state).toBe('dead'));
    expect(await bench.tasks.get('a')).toMatchObject({
      attemptsMade: 1,
      error: expect.stringMatching(/^InvalidInputError: .*delayMs is 0\.5/) as string,
    });
  });

  it.each([
    ['cancelled', (tasks: DelayedTaskService) => tasks.cancel('a', { evenRunning: true })],
    [
      'replaced',
      (tasks: DelayedTaskService) => tasks.schedule('slow', 2, { id: 'a', delayMs: 600_000, onConflict: 'replace' }),
    ],
  ])('whose task is %s gets the signal at once, not when its lease is renewed', async (_, change) => {
    const other = await openBench(standaloneClient(), { leaseMs: 600_000 }, { prefix: bench.prefix });
    const reasons: unknown[] = [];
    other.tasks.handle(
      defineTask({ name: 'slow', timeoutMs: 600_000 }),
      (_payload, { signal }) =>
        new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => {
            reasons.push((signal.reason as { code: string }).code);
            resolve();
          });
        }),
    );
    const settled = listen('attemptSettled');
    other.work();
    await other.tasks.schedule('slow', 1, { id: 'a' });
    await eventually(async () => expect((await bench.tasks.get('a'))?.state).toBe('running'));
    await change(bench.tasks);
    await eventually(() => expect(settled.events.map(({ status }) => status)).toEqual(['lost']));
    expect(reasons).toEqual(['LOST']);
    settled.stop();
    await other.close();
  });

  it('that runs for longer than the lease keeps its task', async () => {
    let runs = 0;
    const signals: boolean[] = [];
    const gate = new Gate();
    bench.tasks.handle(defineTask({ name: 'long', timeoutMs: 60_000 }), async (_payload, { signal }) => {
      runs += 1;
      await gate.pass();
      signals.push(signal.aborted);
    });
    const other = await openBench(standaloneClient(), { leaseMs: LEASE_MS }, { prefix: bench.prefix });
    other.tasks.handle('long', () => void (runs += 1));
    bench.work();
    await bench.tasks.schedule('long', null, { id: 'a' });
    await eventually(() => expect(runs).toBe(1));
    const endsAtMs = (await bench.tasks.get('a'))?.atMs ?? Infinity;
    other.work();
    await eventually(async () => expect(await redisNow(bench.raw)).toBeGreaterThan(endsAtMs));
    // Long enough for some polls of the other one.
    await sleep(300);
    gate.open();
    await eventually(async () => expect(await bench.tasks.get('a')).toBeUndefined());
    expect([runs, signals]).toEqual([1, [false]]);
    await other.close();
  });
});
