import { DelayedTaskEvents } from 'luanest/delayed-task';
import { LeaseBook } from '../../internal/src';
import { Settlements, type TaskAttempt } from '../src/worker/settlements';
import type { TaskLog } from '../src/worker/task-log';
import { FakeRegistry } from '../../../test/support/fake-registry';
import { ManualTime } from '../../../test/support/manual-time';
import { Published } from '../../../test/support/published';
import { stateOf } from '../../../test/support/replies';
import { answer, attemptOf, callsOf, fail, logOf, ONE, TWO } from './attempt-support';

describe('the leases of a worker', () => {
  const time = new ManualTime();
  const events = new Published(DelayedTaskEvents);

  function open({ leaseMs = 3_000 } = {}) {
    const [registry, state] = [new FakeRegistry(), callsOf('mails')];
    const options = { namespace: 'mails', maxPayloadBytes: 1_000 };
    const work = new Settlements(registry.asRegistry, options, state, logOf<TaskLog>().log, () => undefined);
    const book = new LeaseBook(work);
    const begin = (id: string, start: Parameters<typeof attemptOf>[1] = {}): TaskAttempt => {
      const attempt = attemptOf(id, { sentAt: time.now, leaseMs, ...start });
      book.add(attempt);
      return attempt;
    };
    return { registry, state, begin };
  }

  it('are renewed together after a third, from when the renewal was sent', async () => {
    const { begin, registry, state } = open();
    const [a, b] = [begin('a'), begin('b')] as const;
    await time.pass(999);
    expect(registry.calls).toEqual([]);
    await time.pass(1);
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
    expect([a.endsAt, b.endsAt, time.now]).toEqual([4_999, 4_999, 2_300]);
    expect(await stateOf(state.settled())).toBeUndefined();
    await time.pass(699);
    expect(registry.calls).toHaveLength(1);
    await time.pass(1);
    expect(registry.calls).toHaveLength(2);
  });

  it('are renewed again soon after a failure', async () => {
    const { begin, registry } = open({ leaseMs: 1_000 });
    begin('a');
    await time.pass(350);
    expect(registry.last.options).toEqual({ deadlineMs: 334 });
    const error = new Error('no reply');
    await fail(registry, error);
    expect(events.take()).toEqual([['callFailed', { namespace: 'mails', during: 'renew', error }]]);
    await time.pass(75);
    expect(registry.calls).toHaveLength(2);
  });

  it('are renewed for each partition, at most 100 at once', async () => {
    const { begin, registry } = open();
    for (let i = 0; i <= 100; i++) begin(`a${i}`);
    begin('b', { partition: TWO });
    await time.pass(1_100);
    const sizes = registry.calls.map(({ keys, args }) => [keys.leased, (args.pairs as string[]).length / 2]);
    expect(sizes).toEqual([
      [ONE.leased, 100],
      [ONE.leased, 1],
      [TWO.leased, 1],
    ]);
  });

  it('that Redis does not have are lost, unless their outcome is decided', async () => {
    const { begin, registry } = open();
    const [a, b] = [begin('a'), begin('b')] as const;
    await time.pass(1_100);
    b.decided = true;
    await answer(registry, { done: 0, lost: [0, 1] });
    expect([a.over, b.over, b.signal.aborted]).toEqual([true, false, false]);
    expect(a.signal.reason).toMatchObject({ code: 'LOST' });
    expect((a.signal.reason as Error).message).toMatch(/^This worker no longer has the task/);
    await time.pass(1_000);
    expect(registry.calls.slice(1)).toMatchObject([{ args: { pairs: ['b', 't-b'] } }]);
  });

  it('of a task that was replaced while it ran ends, and that of the new attempt in the same process goes on', async () => {
    const { begin, registry } = open();
    const [old, replacing] = [begin('a', { token: 'old' }), begin('a', { token: 'new' })] as const;
    await time.pass(1_100);
    expect(registry.last.args).toEqual({ leaseMs: 3_000, pairs: ['a', 'old', 'a', 'new'] });
    await answer(registry, { done: 1, lost: [0] });
    expect([old.over, replacing.over, replacing.signal.aborted]).toEqual([true, false, false]);
  });

  it('that end fire the signals of their attempts, and are still renewed: Redis may have them', async () => {
    const { begin, registry } = open({ leaseMs: 1_000 });
    const a = begin('a');
    await time.pass(950);
    expect(a.signal.aborted).toBe(false);
    await time.pass(50);
    expect(a.signal.reason).toMatchObject({ code: 'LOST' });
    expect((a.signal.reason as Error).message).toMatch(/^The lease of this task has ended/);
    await fail(registry, new Error('no reply'));
    await time.pass(100);
    expect(registry.calls.slice(1)).toMatchObject([{ args: { pairs: ['a', 't-a'] } }]);
  });
});
