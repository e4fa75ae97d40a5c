import { DELAYED_TASK_CHANNELS } from 'luanest/delayed-task';
import { Leases } from '../src/worker/leases';
import { Attempts, type Attempt } from '../src/worker/running-attempts';
import type { TaskLog } from '../src/worker/task-log';
import { WorkerState } from '../src/worker/worker-state';
import { FakeRegistry } from '../../../test/support/fake-registry';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { Published } from '../../../test/support/published';
import { stateOf } from '../../../test/support/replies';
import { answer, attemptOf, fail, logOf, ONE, TWO } from './attempt-support';

describe('the leases of a worker', () => {
  const time = new ManualTime();
  const events = new Published(DELAYED_TASK_CHANNELS);

  function open({ leaseMs = 3_000 } = {}) {
    const [registry, attempts, state] = [new FakeRegistry(), new Attempts(), new WorkerState('mails')];
    const { lines, log } = logOf<TaskLog>();
    const givenUp: unknown[] = [];
    const overtime = new Set<Attempt>();
    const runner = { overtime, giveUp: (attempt: Attempt, error: unknown) => givenUp.push([attempt.id, error]) };
    const options = { leaseMs, abortGraceMs: 200, concurrency: 16 };
    const leases = new Leases(registry.asRegistry, options, attempts, runner as never, state, log);
    const begin = (id: string, start: Parameters<typeof attemptOf>[1] = {}): Attempt => {
      const attempt = attemptOf(id, { leaseEndsAt: time.now + leaseMs, ...start });
      attempts.add(attempt);
      return attempt;
    };
    return { registry, attempts, state, lines, leases, givenUp, overtime, begin };
  }

  it.each([
    [90, 5],
    [159, 7],
    [1_000, 50],
    [30_000, 100],
  ])('of %i ms are checked every %i ms by one timer, which lets the process end', (leaseMs, everyMs) => {
    const { leases } = open({ leaseMs });
    leases.start();
    expect([time.running, time.keepsProcess]).toEqual([[everyMs], false]);
    leases.stop();
    expect(time.running).toEqual([]);
  });

  it('are renewed together after a third, from when the renewal was sent', async () => {
    const { leases, begin, registry, state } = open();
    const [a, b] = [begin('a'), begin('b')] as const;
    leases.start();
    await time.pass(1_000);
    expect(registry.calls).toEqual([]);
    await time.pass(100);
    expect(registry.calls).toMatchObject([
      {
        script: 'delayed-task.renew',
        keys: { leased: ONE.leased, runs: ONE.runs },
        args: { leaseMs: 3_000, pairs: ['a', 't-a', 'b', 't-b'] },
        options: { deadlineMs: 1_000 },
      },
    ]);
    expect(await stateOf(state.settled())).toBe('pending');
    await time.pass(300);
    expect(registry.calls).toHaveLength(1);
    await answer(registry, { done: 2, lost: [] });
    expect([a.leaseEndsAt, b.leaseEndsAt, time.now]).toEqual([5_100, 5_100, 2_400]);
    expect(await stateOf(state.settled())).toBeUndefined();
    await time.pass(700);
    expect(registry.calls).toHaveLength(1);
    await time.pass(100);
    expect(registry.calls).toHaveLength(2);
  });

  it('are renewed again at the next check after a failure', async () => {
    const { leases, begin, registry } = open({ leaseMs: 1_000 });
    begin('a');
    leases.start();
    await time.pass(350);
    expect(registry.last.options).toEqual({ deadlineMs: 334 });
    const error = new Error('no reply');
    await fail(registry, error);
    expect(events.take()).toEqual([['callFailed', { queue: 'mails', during: 'renew', error }]]);
    await time.pass(50);
    expect(registry.calls).toHaveLength(2);
  });

  it('are renewed for each partition, at most 100 at once', async () => {
    const { leases, begin, registry } = open();
    for (let i = 0; i <= 100; i++) begin(`a${i}`);
    begin('b', { partition: TWO });
    leases.start();
    await time.pass(1_100);
    const sizes = registry.calls.map(({ keys, args }) => [keys.leased, (args.pairs as string[]).length / 2]);
    expect(sizes).toEqual([
      [ONE.leased, 100],
      [ONE.leased, 1],
      [TWO.leased, 1],
    ]);
  });

  it('that Redis does not have are lost, unless their outcome is decided', async () => {
    const { leases, begin, registry } = open();
    const [a, b] = [begin('a'), begin('b')] as const;
    leases.start();
    await time.pass(1_100);
    b.ended = true;
    await answer(registry, { done: 0, lost: ['a', 'b'] });
    expect([a.lost, b.lost, b.signal.aborted]).toEqual([true, false, false]);
    expect(a.signal.reason).toMatchObject({ code: 'LOST' });
    expect((a.signal.reason as Error).message).toMatch(/^The lease is gone/);
    await time.pass(100);
    expect(registry.calls.slice(1)).toMatchObject([{ args: { pairs: ['b', 't-b'] } }]);
  });

  it('that end fire the signals of their attempts', async () => {
    const { leases, begin } = open({ leaseMs: 1_000 });
    const a = begin('a');
    leases.start();
    await time.pass(950);
    expect(a.signal.aborted).toBe(false);
    await time.pass(50);
    expect(a.signal.reason).toMatchObject({ code: 'LOST' });
    expect((a.signal.reason as Error).message).toMatch(/^The lease has ended/);
  });

  it('are handed back without an error', async () => {
    const { leases, begin, registry } = open();
    const released = leases.release([begin('a'), begin('b', { partition: TWO })]);
    const { due, leased, runs, waits } = ONE;
    expect(registry.calls).toMatchObject([
      { script: 'delayed-task.release', keys: { due, leased, runs, waits }, args: { pairs: ['a', 't-a'] } },
      { script: 'delayed-task.release', keys: { due: TWO.due }, args: { pairs: ['b', 't-b'] } },
    ]);
    const error = new Error('no reply');
    await fail(registry, error);
    expect(events.take()).toEqual([['callFailed', { queue: 'mails', during: 'release', error }]]);
    expect(await stateOf(released)).toBe('pending');
    registry.calls[0]?.reply.resolve({ done: 1, lost: [] });
    await turn();
    expect(await stateOf(released)).toBeUndefined();
  });
});

describe('an attempt that takes too long', () => {
  const time = new ManualTime();

  function open() {
    const [registry, attempts, state] = [new FakeRegistry(), new Attempts(), new WorkerState('mails')];
    const { lines, log } = logOf<TaskLog>();
    const givenUp: unknown[] = [];
    const overtime = new Set<Attempt>();
    const runner = { overtime, giveUp: (...args: unknown[]) => givenUp.push(args) };
    const options = { leaseMs: 60_000, abortGraceMs: 200, concurrency: 16 };
    const leases = new Leases(registry.asRegistry, options, attempts, runner as never, state, log);
    const attempt = attemptOf('a');
    attempts.add(attempt);
    leases.start();
    return { attempt, givenUp, overtime, lines };
  }

  it('gets its signal first, and is given up after abortGraceMs', async () => {
    const { attempt, givenUp } = open();
    attempt.timesOutAt = time.now + 500;
    await time.pass(400);
    expect(attempt.signal.aborted).toBe(false);
    await time.pass(100);
    expect(attempt.signal.reason).toMatchObject({
      code: 'TIMEOUT',
      message: 'The handler of mail did not end within 500 ms.',
    });
    expect(attempt.timeout).toBe(attempt.signal.reason);
    await time.pass(100);
    expect(givenUp).toEqual([]);
    await time.pass(100);
    expect(givenUp).toEqual([[attempt, attempt.timeout]]);
  });

  it('does not time out once its outcome is decided', async () => {
    const { attempt, givenUp } = open();
    attempt.timesOutAt = time.now + 500;
    attempt.ended = true;
    await time.pass(1_000);
    expect([attempt.timeout, givenUp]).toEqual([undefined, []]);
  });

  it('is logged while its handler holds a slot after that', async () => {
    const { attempt, overtime, lines } = open();
    await time.pass(100);
    expect(lines).toEqual([]);
    overtime.add(attempt);
    await time.pass(100);
    expect(lines).toEqual([['overtime', overtime, 16]]);
  });
});
