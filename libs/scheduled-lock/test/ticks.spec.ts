import type { Job, Work } from '../src/jobs/job';
import { OutcomeLog } from '../src/runs/outcome-log';
import { Ticks } from '../src/runs/ticks';
import { FakeRegistry } from '../../../test/support/fake-registry';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { pending, stateOf } from '../../../test/support/replies';
import { CRON, jobOf, MODULE } from './runs-support';

const time = new ManualTime();
const granted = { status: 'ran', slot: 80, fence: 7, leftMs: 0 };

function open() {
  const registry = new FakeRegistry();
  const outcomes = new OutcomeLog(MODULE, { warn: () => undefined, log: () => undefined });
  const recorded: unknown[] = [];
  jest.spyOn(outcomes, 'record').mockImplementation((_, { durationMs = 0, ...tick }, saved) => {
    expect(Number.isInteger(durationMs) && durationMs >= 0 && durationMs < 60_000).toBe(true);
    recorded.push([tick, saved]);
  });
  const ticks = new Ticks(registry.asRegistry, MODULE, outcomes);
  const run = (work: Work, job: Job = jobOf(), mode: 'tick' | 'catch-up' | 'free' = 'tick') => {
    const running = ticks.run(job, mode, work);
    running.catch(() => undefined);
    return running;
  };
  const answer = async (reply: unknown): Promise<void> => {
    await turn();
    registry.last.reply.resolve(reply);
    await turn();
  };
  const fail = async (error: unknown): Promise<void> => {
    await turn();
    registry.last.reply.reject(error);
    await turn();
  };
  return { registry, ticks, run, answer, fail, recorded };
}
const tickOf = (status: string, more: object = {}) => ({ mode: 'tick', status, slot: 80, fence: 7, ...more });
afterEach(() => {
  jest.restoreAllMocks();
});

describe('a tick', () => {
  it('runs its job under the lock, and releases it with the status', async () => {
    const { registry, ticks, run, answer, recorded } = open();
    const seen: unknown[] = [];
    const running = run(() => {
      const current = ticks.current();
      seen.push(current?.name, current?.slot, current?.fence, ticks.inside(jobOf()));
      seen.push(ticks.inside(jobOf(CRON, { name: 'other' })), current?.lost);
      current?.assertHeld();
      return 'done';
    });
    await answer(granted);
    expect(seen).toEqual(['report', 80, 7, true, false, false]);
    const [claim, release] = registry.calls;
    expect(release).toMatchObject({
      script: 'scheduled-lock.complete',
      keys: { state: 'state', history: 'history' },
      args: { owner: claim?.args.owner, node: 'n1', status: 'ran', atLeastMs: 20, retentionMs: 9_000, keep: 3 },
    });
    expect(release?.args).toMatchObject({ slot: 80, fence: 7 });
    expect(await stateOf(running)).toBe('pending');
    await answer('released');
    expect(await running).toEqual({ ran: true, status: 'ran', value: 'done' });
    expect(recorded).toEqual([[tickOf('ran'), true]]);
    expect([ticks.current(), ticks.inside(jobOf())]).toEqual([undefined, false]);
  });

  it('measures how long its job ran, in whole milliseconds', async () => {
    const { registry, run, answer } = open();
    const now = jest.spyOn(performance, 'now').mockReturnValue(500);
    const work = pending<void>();
    void run(() => work.promise);
    await answer(granted);
    now.mockReturnValue(540.4);
    work.resolve();
    await turn();
    expect(registry.last.args.durationMs).toBe(40);
  });

  it('throws the error of its job after the release', async () => {
    const { registry, run, answer, recorded } = open();
    const error = new Error('broken');
    const running = run(() => {
      throw error;
    });
    await answer(granted);
    expect([registry.last.args.status, await stateOf(running)]).toEqual(['failed', 'pending']);
    await answer('released');
    expect(await stateOf(running)).toBe(error);
    expect(recorded).toEqual([[tickOf('failed', { error }), true]]);
  });

  it('is lost if its lease ended while its job ran', async () => {
    const { registry, run, answer, recorded } = open();
    const work = pending<string>();
    const running = run(() => work.promise, jobOf(CRON, { renew: false }));
    await answer(granted);
    await time.pass(3_000);
    work.resolve('late');
    await turn();
    expect(registry.last.args.status).toBe('lost');
    await answer('released');
    expect(await running).toEqual({ ran: true, status: 'lost', value: 'late' });
    expect(recorded).toEqual([[tickOf('lost'), true]]);
  });

  it('is lost if Redis has no lease at the release', async () => {
    const { run, answer, recorded } = open();
    const running = run(() => 1);
    await answer(granted);
    await answer('lost');
    expect(await running).toEqual({ ran: true, status: 'lost', value: 1 });
    expect(recorded).toEqual([[tickOf('lost'), true]]);
  });

  it('has an status that may not be saved if another run has claimed when its release is sent again', async () => {
    const { run, answer, recorded } = open();
    const running = run(() => 1);
    await answer(granted);
    await answer('unknown');
    expect(await running).toEqual({ ran: true, status: 'ran', value: 1 });
    expect(recorded).toEqual([[tickOf('ran'), false]]);
  });

  it('has an status that may not be saved if the release fails', async () => {
    const { run, answer, fail, recorded } = open();
    const running = run(() => 1);
    await answer(granted);
    await fail(new Error('no reply'));
    expect(await running).toEqual({ ran: true, status: 'ran', value: 1 });
    expect(recorded).toEqual([[tickOf('ran'), false]]);
  });

  it('does not run its job if the reply took longer than the lease', async () => {
    const { registry, run, answer, recorded } = open();
    const work = jest.fn();
    const running = run(work);
    await turn();
    time.now += 3_000;
    await answer(granted);
    expect([work.mock.calls.length, registry.last.args.status]).toEqual([0, 'lost']);
    await answer('released');
    expect(await running).toEqual({ ran: false, status: 'lost' });
    expect(recorded).toEqual([[tickOf('lost'), true]]);
  });

  it('that is refused records why, and a catch-up without a slot records nothing', async () => {
    const { run, answer, recorded } = open();
    for (const status of ['skipped-slot', 'nothing']) {
      const running = run(() => 1);
      await answer({ status, slot: 80, fence: 0, leftMs: 0 });
      expect(await running).toEqual({ ran: false, status });
    }
    expect(recorded).toEqual([[{ mode: 'tick', status: 'skipped-slot', slot: 80 }, true]]);
  });

  it('whose claim failed does not run, or runs without the lock', async () => {
    const { ticks, run, fail, recorded } = open();
    const error = new Error('no connection');
    const work = jest.fn();
    const skipped = run(work);
    await fail(error);
    expect([await skipped, work.mock.calls.length]).toEqual([{ ran: false, status: 'redis-error' }, 0]);
    const running = run(() => [ticks.current()?.fence, ticks.current()?.slot], jobOf(CRON, { onRedisError: 'run' }));
    await fail(error);
    expect(await running).toEqual({ ran: true, status: 'redis-error', value: [0, 77] });
    const failed = [{ mode: 'tick', status: 'redis-error', slot: 77, error }, false];
    expect(recorded).toEqual([failed, failed]);
    const caught = run(work, jobOf(CRON, { onRedisError: 'run' }), 'catch-up');
    await fail(error);
    expect([await caught, work.mock.calls.length]).toEqual([{ ran: false, status: 'nothing' }, 0]);
    expect(recorded).toHaveLength(2);
  });

  it('is not inside a run that has ended, although code of that run goes on', async () => {
    const { ticks, run, answer } = open();
    const later = pending<void>();
    let inside: Promise<boolean> | undefined;
    const running = run(() => {
      inside = later.promise.then(() => ticks.inside(jobOf()));
    });
    await answer(granted);
    await answer('released');
    await running;
    later.resolve();
    expect(await inside).toBe(false);
  });
});

describe('the close', () => {
  it('refuses ticks', async () => {
    const { ticks, run, registry } = open();
    await ticks.close();
    expect(await run(() => 1)).toEqual({ ran: false, status: 'closed' });
    expect(registry.calls).toEqual([]);
  });

  it('waits for running jobs, then fires their signals, then releases their locks', async () => {
    const { ticks, run, answer, registry } = open();
    const work = pending<void>();
    let signal: AbortSignal | undefined;
    const running = run(() => {
      signal = ticks.current()?.signal;
      return work.promise;
    });
    await answer(granted);
    const closing = ticks.close();
    await time.pass(399);
    expect(signal?.aborted).toBe(false);
    await time.pass(1);
    expect([signal?.aborted, registry.calls.length]).toEqual([true, 1]);
    await time.pass(49);
    expect(registry.calls).toHaveLength(1);
    await time.pass(1);
    expect(registry.last).toMatchObject({ script: 'scheduled-lock.complete', args: { status: 'lost' } });
    expect(await stateOf(closing)).toBe('pending');
    await answer('released');
    expect(await stateOf(closing)).toBeUndefined();
    work.resolve();
    expect(await running).toMatchObject({ status: 'lost' });
  });

  it('ends as soon as the jobs have ended', async () => {
    const { ticks, run, answer } = open();
    const work = pending<void>();
    void run(() => work.promise);
    await answer(granted);
    const closing = ticks.close();
    work.resolve();
    await answer('released');
    expect(await stateOf(closing)).toBeUndefined();
  });

  it('waits at most 2 s for the replies to the releases, also while a renewal is in flight', async () => {
    const { ticks, run, answer, registry } = open();
    void run(() => new Promise(() => undefined));
    await answer(granted);
    await time.pass(1_000);
    expect(registry.last.script).toBe('scheduled-lock.renew');
    const closing = ticks.close();
    await time.pass(2_449);
    expect(await stateOf(closing)).toBe('pending');
    await time.pass(1);
    expect(await stateOf(closing)).toBeUndefined();
  });

  it.each([
    ['is granted', true],
    ['fails', false],
  ])('lets no job begin whose claim %s after its end', async (_, isGranted) => {
    const { ticks, run, answer, fail, registry, recorded } = open();
    const work = jest.fn();
    const running = run(work, jobOf(CRON, { onRedisError: 'run' }));
    const closing = ticks.close();
    await time.pass(450);
    expect(await stateOf(closing)).toBeUndefined();
    await (isGranted ? answer(granted) : fail(new Error('no reply')));
    expect([await stateOf(running), work.mock.calls, recorded]).toEqual([{ ran: false, status: 'closed' }, [], []]);
    const given = { script: 'scheduled-lock.complete', args: { status: 'redis-error', slot: 80 } };
    expect(registry.calls.slice(1)).toMatchObject(isGranted ? [given] : []);
  });

  it('waits for claims in flight', async () => {
    const { ticks, run, answer } = open();
    void run(() => 1);
    const closing = ticks.close();
    await turn();
    expect(await stateOf(closing)).toBe('pending');
    await answer({ status: 'skipped-slot', slot: 80, fence: 0, leftMs: 0 });
    expect(await stateOf(closing)).toBeUndefined();
  });
});
