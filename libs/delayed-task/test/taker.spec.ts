import { DelayedTaskEvents } from 'luanest/delayed-task';
import { NotSentError, UnknownOutcomeError } from 'luanest/script-registry';
import { Taker } from '../src/worker/partition-loop';
import type { TaskLog } from '../src/worker/task-log';
import { FakeRegistry } from '../../../test/support/fake-registry';
import { ManualTime } from '../../../test/support/manual-time';
import { Published } from '../../../test/support/published';
import { stateOf } from '../../../test/support/replies';
import { answer, callsOf, fail, logOf, ONE } from './attempt-support';

describe('taking tasks', () => {
  const time = new ManualTime();
  const events = new Published(DelayedTaskEvents);
  const record = '5\n0\n100 2 1000\nmail\n{"to":"a"}';
  const row = { id: 'a', record, attempt: 2, runAtMs: 90 };
  const reply = { now: 100, nextAt: 0, buried: [], tasks: [row] };
  const lostReply = new UnknownOutcomeError('no reply');
  afterEach(() => {
    jest.restoreAllMocks();
  });

  function open() {
    const [registry, state] = [new FakeRegistry(), callsOf('mails')];
    const { lines, log } = logOf<TaskLog>();
    const options = { namespace: 'mails', leaseMs: 3_000 };
    const taker = new Taker(registry.asRegistry, options as never, state, log);
    return { registry, state, lines, taker };
  }

  it('makes attempts of the tasks that Redis leases', async () => {
    const { registry, taker } = open();
    const taking = taker.take(ONE, 1, 9);
    const { due, leased, tasks, runs, dead, waits } = ONE;
    expect(registry.calls).toMatchObject([
      {
        script: 'delayed-task.take',
        keys: { due, leased, tasks, runs, dead, waits },
        args: { limit: 9, leaseMs: 3_000 },
      },
    ]);
    const { token } = registry.last.args;
    time.now += 20;
    await answer(registry, reply);
    const { attempts = [], waitMs } = (await taking) ?? {};
    expect([attempts.length, waitMs]).toEqual([1, Infinity]);
    const [attempt] = attempts;
    expect(attempt).toMatchObject({ id: 'a', attempt: 2, runAtMs: 90, lateMs: 10, name: 'mail', attempts: 5, token });
    expect([attempt?.partition, attempt?.endsAt]).toEqual([ONE, 3_999]);
    expect(attempt?.record.payload).toBe('{"to":"a"}');
    expect(events.take()).toEqual([]);
  });

  it('waits until the next task is due, by the middle of the call', async () => {
    const { registry, taker } = open();
    const taking = taker.take(ONE, 1, 9);
    time.now += 20;
    await answer(registry, { ...reply, tasks: [], nextAt: 600 });
    expect(await taking).toEqual({ attempts: [], waitMs: 490 });
  });

  it('has a token for each take, and a key for each lane of this worker', () => {
    const { registry, taker } = open();
    for (const lane of [1, 1, 2]) void taker.take(ONE, lane, 9);
    void open().taker.take(ONE, 1, 9);
    const [first, second, third] = registry.calls;
    expect(new Set(registry.calls.map(({ args }) => args.token)).size).toBe(3);
    expect(first?.keys.taken).toMatch(/\.1$/);
    expect(second?.keys.taken).toBe(first?.keys.taken);
    expect(third?.keys.taken).toBe(first?.keys.taken?.replace(/\.1$/, '.2'));
    const other = open();
    void other.taker.take(ONE, 1, 9);
    expect(other.registry.last.keys.taken).not.toBe(first?.keys.taken);
  });

  it('reports tasks whose lease ended in their last attempt', async () => {
    const { registry, taker, lines } = open();
    void taker.take(ONE, 1, 9);
    const buried = [{ id: 'b', name: 'mail', attempt: 5 }];
    await answer(registry, { ...reply, buried });
    expect(events.take()).toEqual([['tasksBuried', { namespace: 'mails', count: 1, tasks: buried }]]);
    const why = 'its lease ended, for example because the worker died, was blocked or could not reach Redis';
    expect(lines).toEqual([['dead', { named: 'task "mail" (id "b")', attempt: 5, attempts: 5 }, why]]);
  });

  it('does not begin tasks whose leases have ended before the reply', async () => {
    for (const [afterMs, begun] of [
      [2_998, 1],
      [2_999, 0],
    ] as const) {
      const { registry, taker } = open();
      const taking = taker.take(ONE, 1, 9);
      time.now += afterMs;
      await answer(registry, reply);
      expect((await taking)?.attempts.length).toBe(begun);
    }
  });

  it('does not begin tasks of a repeated take whose leases, counted from its first sending, have ended', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(0);
    for (const [afterMs, begun] of [
      [2_878, 1],
      [2_879, 0],
    ] as const) {
      const { registry, taker } = open();
      const taking = taker.take(ONE, 1, 9);
      time.now += 100;
      await fail(registry, lostReply);
      await time.pass(20);
      time.now += afterMs;
      await answer(registry, reply);
      expect((await taking)?.attempts.length).toBe(begun);
    }
  });

  it.each([
    [0, 20],
    [0.5, 35],
  ])('is repeated with its token if the reply is lost (%d)', async (random, afterMs) => {
    jest.spyOn(Math, 'random').mockReturnValue(random);
    time.now = 10_000;
    const { registry, taker } = open();
    const taking = taker.take(ONE, 1, 9);
    time.now += 100;
    await fail(registry, lostReply);
    expect(events.take()).toEqual([['callFailed', { namespace: 'mails', during: 'take', error: lostReply }]]);
    expect([time.running, time.keepsProcess]).toEqual([[afterMs], false]);
    await time.pass(afterMs);
    const [first, second] = registry.calls;
    expect(second).toMatchObject({ keys: first?.keys, args: first?.args });
    time.now += 20;
    await answer(registry, { ...reply, nextAt: 600 });
    expect(await taking).toMatchObject({ attempts: [{ endsAt: 12_999 }], waitMs: 490 });
  });

  it('is repeated with its token, after longer pauses, if a repeat after a lost reply has no effect', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(0);
    const { registry, taker } = open();
    const taking = taker.take(ONE, 1, 9);
    const errors = [lostReply, ...Array.from({ length: 6 }, () => new NotSentError('Redis is unavailable'))];
    for (const [i, error] of errors.entries()) {
      await fail(registry, error);
      const pauseMs = Math.min(20 * 2 ** i, 400);
      expect(time.running).toEqual([pauseMs]);
      await time.pass(pauseMs);
    }
    const [first, ...repeats] = registry.calls;
    expect(repeats).toMatchObject(errors.map(() => ({ keys: first?.keys, args: first?.args })));
    await answer(registry, reply);
    expect(await taking).toMatchObject({ attempts: [{ id: 'a', endsAt: 3_999 }] });
  });

  it('fails after other errors, and when the leases have ended', async () => {
    const { registry, taker } = open();
    const taking = taker.take(ONE, 1, 9);
    const error = new Error('not sent');
    await fail(registry, error);
    expect(await stateOf(taking)).toBeUndefined();
    expect(events.take()).toEqual([['callFailed', { namespace: 'mails', during: 'take', error }]]);
    const late = taker.take(ONE, 1, 9);
    time.now += 3_000;
    await fail(registry, lostReply);
    expect(await stateOf(late)).toBeUndefined();
    expect([registry.calls.length, time.running]).toEqual([2, []]);
  });

  it('ends when the worker stops', async () => {
    const { registry, taker, state } = open();
    const taking = taker.take(ONE, 1, 9);
    await fail(registry, lostReply);
    state.stop();
    await time.pass(50);
    expect(await stateOf(taking)).toBeUndefined();
    expect(await stateOf(taker.take(ONE, 1, 9))).toBeUndefined();
    expect(registry.calls).toHaveLength(1);
  });
});
