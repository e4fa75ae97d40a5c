import { UnknownOutcomeError } from 'luanest/script-registry';
import type { Job, JobKind } from '../src/jobs/job';
import { Claims, type Mode } from '../src/runs/claims';
import { FakeRegistry } from '../../../test/support/fake-registry';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { stateOf } from '../../../test/support/replies';
import { CRON, HANDLER, jobOf, MODULE } from './runs-support';

describe('the claim of a run', () => {
  const time = new ManualTime();
  const interval = (periodMs: number): JobKind => ({ type: 'interval', periodMs });
  const granted = { status: 'ran', slot: 80, fence: 7, leftMs: 0 };
  afterEach(() => {
    jest.restoreAllMocks();
  });

  async function open(job: Job = jobOf(), mode: Mode = 'tick', module = MODULE) {
    jest.spyOn(Math, 'random').mockReturnValue(0.5);
    const registry = new FakeRegistry();
    const closing = new AbortController();
    const taking = new Claims(registry.asRegistry, module).take(job, mode, closing.signal);
    taking.catch(() => undefined);
    await turn();
    const answer = async (reply: unknown): Promise<void> => {
      registry.last.reply.resolve(reply);
      await turn();
    };
    return { registry, closing, taking, answer };
  }

  it.each<[string, JobKind, Mode, object]>([
    ['tick of cron', CRON, 'tick', { slot: 77, periodMs: 0, staleMs: 60_000 }],
    ['catch-up of cron', CRON, 'catch-up', { slot: 0, periodMs: 0, staleMs: 90_000 }],
    ['run by hand of cron', CRON, 'free', { slot: 0, periodMs: 0, staleMs: 60_000 }],
    ['tick of an interval', interval(500), 'tick', { slot: 0, periodMs: 500, staleMs: 0 }],
    ['catch-up of an interval', interval(500), 'catch-up', { slot: 0, periodMs: 500, staleMs: 90_000 }],
    ['tick of a timeout', { type: 'timeout' }, 'tick', { slot: 1, periodMs: 0, staleMs: 0 }],
    ['call of a handler', HANDLER, 'free', { slot: 0, periodMs: 0, staleMs: 0 }],
  ])('of a %s names its slot', async (_, kind, mode, args) => {
    const { registry } = await open(jobOf(kind), mode);
    expect(registry.calls).toMatchObject([
      { script: 'scheduled-lock.claim', keys: { state: 'state', history: 'history' }, options: { deadlineMs: 200 } },
    ]);
    const { owner, ...rest } = registry.last.args;
    expect(rest).toEqual({ node: 'n1', mode, leaseMs: 3_000, retentionMs: 9_000, keep: 3, ...args });
    expect(owner).toMatch(/^n1#.+/);
  });

  it('has a slot and a fence of Redis, and the time when it was sent', async () => {
    const { registry, taking, answer } = await open();
    time.now += 30;
    await answer(granted);
    const { owner } = registry.last.args;
    expect(await taking).toEqual({ got: 'claim', claim: { owner, slot: 80, fence: 7, sentAt: 1_000 } });
  });

  it('that is refused is not repeated', async () => {
    const { registry, taking, answer } = await open();
    await answer({ status: 'skipped-slot', slot: 80, fence: 0, leftMs: 0 });
    expect(await stateOf(taking)).toEqual({ got: 'refusal', status: 'skipped-slot', slot: 80 });
    expect([registry.calls.length, time.running]).toEqual([1, []]);
  });

  it.each([
    [300, [5, 10, 20, 30, 30]],
    [20, [5, 5, 5]],
  ])('of an interval of %i ms is repeated while others hold the lock', async (periodMs, pauses) => {
    const { registry, taking, answer } = await open(jobOf(interval(periodMs)));
    const taken: number[] = [];
    for (const [i, pauseMs] of pauses.entries()) {
      await answer({ status: 'skipped-held', slot: 90 + i, fence: 0, leftMs: 1_000 });
      taken.push(...time.running);
      await time.pass(pauseMs);
      expect(registry.last.args.slot).toBe(90 + i);
    }
    expect([taken, new Set(registry.calls.map(({ args }) => args.owner)).size]).toEqual([pauses, 1]);
    const sentAt = time.now;
    await answer(granted);
    expect(await taking).toMatchObject({ got: 'claim', claim: { sentAt } });
  });

  it.each([
    [0, 4, 3.75],
    [0, 2, 2],
    [0.75, 1_000, 5.625],
  ])('is repeated after a pause at random (%d), at most at the end of the period', async (random, leftMs, pauseMs) => {
    const { answer } = await open(jobOf(interval(300)));
    jest.spyOn(Math, 'random').mockReturnValue(random);
    await answer({ status: 'skipped-held', slot: 90, fence: 0, leftMs });
    expect(time.running).toEqual([pauseMs]);
  });

  it('is not repeated after the close, which ends the pause', async () => {
    const { registry, taking, closing, answer } = await open(jobOf(interval(300)));
    await answer({ status: 'skipped-held', slot: 90, fence: 0, leftMs: 1_000 });
    closing.abort();
    expect(await stateOf(taking)).toEqual({ got: 'refusal', status: 'skipped-held', slot: 90 });
    expect([registry.calls.length, time.running]).toEqual([1, []]);
  });

  it('that may have run is given back', async () => {
    const { registry, taking } = await open();
    const { owner } = registry.last.args;
    const error = new UnknownOutcomeError('no reply');
    registry.last.reply.reject(error);
    expect(await stateOf(taking)).toEqual({ got: 'failure', error, slot: 77 });
    expect(registry.last).toMatchObject({
      script: 'scheduled-lock.complete',
      keys: { state: 'state', history: 'history' },
    });
    const back = { status: 'redis-error', durationMs: 0, atLeastMs: 0, slot: 77, fence: 0 };
    expect(registry.last.args).toEqual({ owner, node: 'n1', retentionMs: 9_000, keep: 3, ...back });
    registry.last.reply.reject(new Error('no reply either'));
    await turn();
  });

  it('that had no effect is not given back', async () => {
    const { registry, taking } = await open();
    const error = new Error('not sent');
    registry.last.reply.reject(error);
    expect(await stateOf(taking)).toEqual({ got: 'failure', error, slot: 77 });
    expect(registry.calls).toHaveLength(1);
  });

  it('waits for the replicas that the module requires', async () => {
    for (const [replicas, reply, got] of [
      [2, granted, 'claim'],
      [1, { ...granted, status: 'skipped-slot' }, 'refusal'],
    ] as const) {
      const { registry, taking, answer } = await open(jobOf(), 'tick', { ...MODULE, replicas: 2 });
      expect(registry.last.script).toBe('scheduled-lock.claim and wait');
      expect(registry.last.options).toEqual({ replicas: 2, timeoutMs: 300, deadlineMs: 500 });
      await answer({ result: reply, replicas });
      expect(await taking).toMatchObject({ got });
    }
  });

  it('with too few replicas is given back', async () => {
    const { registry, taking, answer } = await open(jobOf(), 'tick', { ...MODULE, replicas: 2 });
    await answer({ result: granted, replicas: 1 });
    expect(await taking).toMatchObject({ got: 'failure', error: { code: 'NOT_REPLICATED' }, slot: 77 });
    expect(registry.last.script).toBe('scheduled-lock.complete');
  });
});
