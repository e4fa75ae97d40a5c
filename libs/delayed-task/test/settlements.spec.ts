import { DelayedTaskEvents } from 'luanest/delayed-task';
import { Settlements, type TaskAttempt } from '../src/worker/settlements';
import type { TaskLog } from '../src/worker/task-log';
import { FakeRegistry } from '../../../test/support/fake-registry';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { Published } from '../../../test/support/published';
import { stateOf } from '../../../test/support/replies';
import { answer, attemptOf, callsOf, fail, logOf, ONE, TWO } from './attempt-support';

describe('the outcome of an attempt', () => {
  const time = new ManualTime();
  const events = new Published(DelayedTaskEvents);
  afterEach(() => {
    jest.restoreAllMocks();
  });

  function open() {
    const [registry, attempts, state] = [new FakeRegistry(), new Set<TaskAttempt>(), callsOf('mails')];
    const { lines, log } = logOf<TaskLog>();
    const options = { namespace: 'mails', maxPayloadBytes: 1_000 };
    const settlements = new Settlements(
      registry.asRegistry,
      options,
      state,
      log,
      (attempt) => void attempts.delete(attempt),
    );
    const begin = (...start: Parameters<typeof attemptOf>): TaskAttempt => {
      const attempt = attemptOf(...start);
      attempts.add(attempt);
      return attempt;
    };
    return { registry, attempts, state, lines, settlements, begin };
  }
  const settled = (id: string, status: string, error?: unknown, durationMs = 0) => [
    'attemptSettled',
    { namespace: 'mails', name: 'mail', id, attempt: 2, status, lateMs: 3, durationMs, error },
  ];

  it('is sent with others that store nothing, at the end of the turn, for each partition', async () => {
    const { registry, attempts, state, settlements, begin } = open();
    for (const id of ['a', 'b']) settlements.succeed(begin(id), undefined);
    settlements.succeed(begin('c', { partition: TWO }), undefined);
    expect(registry.calls).toEqual([]);
    await turn();
    const { leased, tasks, runs } = ONE;
    expect(registry.calls).toMatchObject([
      {
        script: 'delayed-task.acknowledge',
        keys: { leased, tasks, runs },
        args: { pairs: ['a', 't-a', 'b', 't-b'] },
      },
      { script: 'delayed-task.acknowledge', keys: { leased: TWO.leased }, args: { pairs: ['c', 't-c'] } },
    ]);
    expect(await stateOf(state.settled())).toBe('pending');
    time.now += 40;
    await answer(registry, { done: 1, lost: [] });
    expect(events.take()).toEqual([settled('c', 'done', undefined, 40)]);
    registry.calls[0]?.reply.resolve({ done: 1, lost: [1] });
    expect(await stateOf(state.settled())).toBeUndefined();
    expect(events.take()).toEqual([settled('a', 'done', undefined, 40), settled('b', 'lost', undefined, 40)]);
    expect(attempts.size).toBe(0);
  });

  it('is lost for a task that was replaced while it ran, and done for the new attempt in the same process', async () => {
    const { registry, settlements, begin } = open();
    for (const token of ['old', 'new']) settlements.succeed(begin('a', { token }), undefined);
    await turn();
    expect(registry.last.args).toEqual({ pairs: ['a', 'old', 'a', 'new'] });
    await answer(registry, { done: 1, lost: [0] });
    expect(events.take()).toEqual([settled('a', 'lost'), settled('a', 'done')]);
  });

  it.each([
    [true, 'done'],
    [false, 'lost'],
  ])('with a result is sent alone (%s: %s)', async (done, outcome) => {
    const { registry, state, settlements, begin } = open();
    settlements.succeed(begin('a', { keepResultMs: 60 }), undefined);
    expect(registry.calls).toMatchObject([
      {
        script: 'delayed-task.complete',
        keys: { leased: ONE.leased, tasks: ONE.tasks, runs: ONE.runs, result: ONE.result('a') },
        args: { id: 'a', token: 't-a', keepMs: 60, result: '' },
      },
    ]);
    expect(await stateOf(state.settled())).toBe('pending');
    await answer(registry, done);
    expect(events.take()).toEqual([settled('a', outcome)]);
  });

  it.each([
    [0, 500],
    [0.9999, 1_000],
  ])('of a task without a handler is decided by Redis (%d)', async (random, share) => {
    jest.spyOn(Math, 'random').mockReturnValue(random);
    const { registry, state, lines, settlements, begin } = open();
    const [a, b, c] = [begin('a'), begin('b'), begin('c')] as const;
    for (const attempt of [a, b, c]) settlements.handBackUnknown(attempt);
    expect(lines).toEqual([1, 2, 3].map(() => ['unknown', 'mail']));
    lines.splice(0);
    await turn();
    const { due, leased, runs, dead, waits } = ONE;
    const error =
      'SetupError: For a day, only workers without a handler for the name of the task took it. Add the handler to a worker, then replay the task.';
    expect(registry.calls).toMatchObject([
      {
        script: 'delayed-task.defer',
        keys: { due, leased, runs, dead, waits },
        args: { longestMs: 86_400_000, share, error, pairs: ['a', 't-a', 'b', 't-b', 'c', 't-c'] },
      },
    ]);
    expect(await stateOf(state.settled())).toBe('pending');
    await answer(registry, [0, 1, 2]);
    const failed = expect.objectContaining({ code: 'UNKNOWN_TASK' }) as unknown;
    expect(events.take()).toEqual([settled('a', 'lost'), settled('b', 'unknown'), settled('c', 'dead', failed)]);
    expect(lines).toEqual([['deadUnknown', c]]);
  });

  it('that failed is sent with its verdict and its pause', async () => {
    const { registry, state, settlements, begin } = open();
    settlements.fail(begin('a'), { verdict: 'postpone', text: 'later', delayMs: 70 });
    settlements.fail(begin('b'), { verdict: 'retry', text: 'broken', delayMs: 150 });
    const { due, leased, tasks, runs, dead, waits } = ONE;
    expect(registry.calls).toMatchObject([
      {
        script: 'delayed-task.fail',
        keys: { due, leased, tasks, runs, dead, waits },
        args: { id: 'a', token: 't-a', delayMs: 70, verdict: 'postpone', error: 'later' },
      },
      { args: { id: 'b', token: 't-b', delayMs: 150, verdict: 'retry', error: 'broken' } },
    ]);
    expect(await stateOf(state.settled())).toBe('pending');
  });

  const logged = ({ id }: TaskAttempt) => ({ named: `task "mail" (id "${id}")`, attempt: 2, attempts: 5 });

  it('that failed is logged, unless the handler asked for another attempt', async () => {
    const { registry, lines, settlements, begin } = open();
    const error = new Error('broken');
    const failure = { verdict: 'retry', text: 'broken', delayMs: 70 } as const;
    const send = async (id: string, more: object, outcome: string): Promise<TaskAttempt> => {
      const attempt = begin(id);
      settlements.fail(attempt, { ...failure, ...more });
      await answer(registry, outcome);
      return attempt;
    };
    const a = await send('a', { error }, 'retried');
    await send('b', { note: 'asked' }, 'retried');
    const c = await send('c', { error }, 'dead');
    const d = await send('d', { note: 'given up' }, 'dead');
    await send('e', { error }, 'lost');
    expect(lines).toEqual([
      ['failed', logged(a), error, 70],
      ['dead', logged(c), { error }],
      ['dead', logged(d), 'given up'],
    ]);
    expect(events.take()).toEqual([
      settled('a', 'retried', error),
      settled('b', 'retried'),
      settled('c', 'dead', error),
      settled('d', 'dead'),
      settled('e', 'lost', error),
    ]);
  });

  it('is sent again until Redis replies', async () => {
    const { registry, attempts, settlements, begin } = open();
    const send = [
      () => settlements.succeed(begin('a'), undefined),
      () => settlements.succeed(begin('a', { keepResultMs: 60 }), {}),
      () => settlements.handBackUnknown(begin('a')),
      () => settlements.fail(begin('a'), { verdict: 'retry', text: 'broken', delayMs: 150 }),
    ];
    for (const [i, one] of send.entries()) {
      one();
      await turn();
      const error = new Error('no reply');
      await fail(registry, error);
      expect([attempts.size, events.take()]).toEqual([
        1,
        [['callFailed', { namespace: 'mails', during: 'settle', error }]],
      ]);
      await time.pass(20);
      expect(registry.calls).toHaveLength(2 * i + 2);
      await answer(registry, [{ done: 1, lost: [] }, true, [1], 'retried'][i]);
      expect([attempts.size, events.take()]).toMatchObject([0, [['attemptSettled', { id: 'a' }]]]);
    }
  });

  it('stays open if the worker stops before Redis replies', async () => {
    const { registry, attempts, state, lines, settlements, begin } = open();
    settlements.succeed(begin('a'), undefined);
    settlements.succeed(begin('b', { keepResultMs: 60 }), {});
    settlements.handBackUnknown(begin('c'));
    settlements.fail(begin('d'), { verdict: 'retry', text: 'broken', delayMs: 150 });
    await turn();
    lines.splice(0);
    state.stop();
    for (const { reply } of registry.calls) reply.reject(new Error('no reply'));
    expect(await stateOf(state.settled())).toBeUndefined();
    expect(events.take().map((one) => (one as string[])[0])).toEqual([
      'callFailed',
      'callFailed',
      'callFailed',
      'callFailed',
    ]);
    expect([attempts.size, lines]).toEqual([4, []]);
  });

  it('is not sent for tasks that are handed back, again and again until Redis replies', async () => {
    const { settlements, begin, registry } = open();
    const released = settlements.release([begin('a'), begin('b', { partition: TWO })]);
    const { due, leased, runs, waits } = ONE;
    expect(registry.calls).toMatchObject([
      { script: 'delayed-task.release', keys: { due, leased, runs, waits }, args: { pairs: ['a', 't-a'] } },
      { script: 'delayed-task.release', keys: { due: TWO.due }, args: { pairs: ['b', 't-b'] } },
    ]);
    const error = new Error('no reply');
    await fail(registry, error);
    expect(events.take()).toEqual([['callFailed', { namespace: 'mails', during: 'release', error }]]);
    registry.calls[0]?.reply.resolve({ done: 1, lost: [] });
    expect(await stateOf(released)).toBe('pending');
    await time.pass(20);
    expect(registry.calls[2]).toMatchObject({ script: 'delayed-task.release', args: { pairs: ['b', 't-b'] } });
    await answer(registry, { done: 1, lost: [] });
    expect(await stateOf(released)).toBeUndefined();
  });

  it('is not waited for any more, if the worker stops before Redis has the tasks back', async () => {
    const { state, settlements, begin, registry } = open();
    const released = settlements.release([begin('a')]);
    await fail(registry, new Error('no reply'));
    expect(await stateOf(released)).toBe('pending');
    state.stop();
    expect(await stateOf(released)).toBeUndefined();
    expect(registry.calls).toHaveLength(1);
  });
});
