import { getEventListeners } from 'node:events';
import { UnknownOutcomeError } from 'luanest/script-registry';
import { Cancellation } from '../src/locks/wait-queue';
import { BUSY, openAcquirer, TAKEN } from './acquirer-support';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { stateOf } from '../../../test/support/replies';

const time = new ManualTime();
const closed = { code: 'CLOSED' };

describe('an acquisition', () => {
  it('is one call, whose reply makes a lease', async () => {
    const { acquirer, acquire, answer, registry } = openAcquirer();
    const acquiring = acquire();
    const key = acquirer.keyOf('a');
    expect(registry.calls).toMatchObject([
      { script: 'lock.acquire', keys: { lock: key }, args: { leaseMs: 3_000, ttlMs: 8_000 } },
    ]);
    expect([key, registry.last.args.owner]).toEqual([expect.stringContaining('{a}'), expect.stringMatching(/^me#/)]);
    expect(registry.last.options).toEqual({ deadlineMs: 500 });
    time.now += 10;
    await answer({ fence: 7, leftMs: 0 });
    const lease = await acquiring;
    expect(lease).toMatchObject({ name: 'a', fence: 7, endsAt: time.now + 2_989 });
    expect([...acquirer.leases.all]).toEqual([lease]);
  });

  it('has a lease that is renewed and released with the token of the acquisition', async () => {
    const { acquire, answer, registry } = openAcquirer();
    const acquiring = acquire();
    const { keys, args } = registry.last;
    await answer(TAKEN);
    const lease = await acquiring;
    await time.pass(1_250);
    expect(registry.last).toMatchObject({ script: 'lock.renew', keys, options: { deadlineMs: 1_000 } });
    expect(registry.last.args).toEqual(args);
    await answer(true);
    void lease?.release();
    expect(registry.last).toMatchObject({ script: 'lock.release', keys });
    expect([registry.last.args, registry.last.options]).toEqual([{ owner: args.owner }, undefined]);
  });

  it('has a lease that is not renewed without `renew`', async () => {
    const { acquire, answer, registry } = openAcquirer();
    void acquire('a', { renew: false });
    await answer(TAKEN);
    await time.pass(3_000);
    expect(registry.scripts).toEqual(['lock.acquire']);
  });

  it.each([
    ['deadlineMs', {}, {}, undefined, 500],
    ['the rest of the wait and deadlineMs', {}, { waitMs: 1_000 }, undefined, 1_500],
    ['the rest of a wait for several names', {}, { waitMs: 1_000 }, 200.5, 701],
    ['deadlineMs after the wait', { deadlineMs: 30 }, { waitMs: 1_000 }, -200, 30],
    ['the deadline of the registry at most', {}, { waitMs: 100_000 }, undefined, 60_000],
    ['deadlineMs and replicasTimeoutMs', { replicas: 1, replicasTimeoutMs: 300 }, {}, undefined, 800],
  ])('waits for its reply for %s', (_, options, call, inMs, deadlineMs) => {
    const { acquire, registry } = openAcquirer(options);
    void acquire('a', call, inMs === undefined ? undefined : time.now + inMs);
    expect(registry.last.options).toMatchObject({ deadlineMs });
  });

  it('without a wait fails if the lock is held', async () => {
    const { acquire, answer, registry } = openAcquirer();
    const acquiring = acquire();
    await answer({ fence: 7, leftMs: 1 });
    expect(await stateOf(acquiring)).toBeUndefined();
    expect(registry.scripts).toEqual(['lock.acquire']);
  });

  it('without a wait looks at the queue if the lock is free but marked as waited for', async () => {
    for (const reply of [TAKEN, BUSY]) {
      const { acquire, answer, registry, acquirer } = openAcquirer();
      const acquiring = acquire();
      const first = registry.last;
      await answer({ fence: 7, leftMs: -1 });
      expect(registry.scripts).toEqual(['lock.acquire', 'lock.wait']);
      expect(registry.last).toMatchObject({
        keys: { ...first.keys, queue: first.keys.lock?.replace(/lock$/, 'queue') },
        args: { leaseMs: 3_000, ttlMs: 8_000, ticket: '-', countsMs: 0, turnMs: 250 },
        options: { deadlineMs: 500 },
      });
      expect(registry.last.args.owner).not.toBe(first.args.owner);
      await answer(reply);
      expect(await acquiring).toEqual(reply === TAKEN ? [...acquirer.leases.all][0] : undefined);
    }
  });

  it('fails if the reply took longer than the lease, and releases it', async () => {
    const { acquire, answer, registry } = openAcquirer();
    const acquiring = acquire();
    const { owner } = registry.last.args;
    time.now += 3_000;
    await answer(TAKEN);
    expect(await stateOf(acquiring)).toBeUndefined();
    expect(registry.scripts).toEqual(['lock.acquire', 'lock.release']);
    expect(registry.last.args).toEqual({ owner });
  });

  it('is released if its reply is lost, because it may have run', async () => {
    const { acquire, fail, registry, acquirer } = openAcquirer();
    const acquiring = acquire();
    const { owner } = registry.last.args;
    const error = new UnknownOutcomeError('no reply');
    await fail(error);
    expect(await stateOf(acquiring)).toBe(error);
    expect(registry.scripts).toEqual(['lock.acquire', 'lock.release']);
    expect([registry.last.args, acquirer.idle]).toEqual([{ owner }, false]);
    await fail(new Error('no reply either'));
    expect(acquirer.idle).toBe(true);
  });

  it('is not released if it had no effect', async () => {
    const { acquire, fail, registry, acquirer } = openAcquirer();
    const acquiring = acquire();
    const error = new Error('not sent');
    await fail(error);
    expect(await stateOf(acquiring)).toBe(error);
    expect([registry.scripts, acquirer.idle]).toEqual([['lock.acquire'], true]);
  });

  it('waits for the replicas that it requires', async () => {
    const { acquire, answer, registry } = openAcquirer({ replicas: 2, replicasTimeoutMs: 300 });
    const acquiring = acquire('a');
    expect(registry.last).toMatchObject({ script: 'lock.acquire and wait', args: { leaseMs: 3_000 } });
    expect(registry.last.options).toEqual({ replicas: 2, timeoutMs: 300, deadlineMs: 800 });
    await answer({ result: TAKEN, replicas: 2 });
    expect(await acquiring).toMatchObject({ fence: 7, held: true });
  });

  it('fails with too few replicas, and is released', async () => {
    const { acquire, answer, registry, acquirer } = openAcquirer({ replicas: 2 });
    const acquiring = acquire('a');
    await answer({ result: TAKEN, replicas: 1 });
    expect(await stateOf(acquiring)).toMatchObject({ code: 'NOT_REPLICATED', during: 'claim', copies: 1, replicas: 2 });
    expect(registry.scripts).toEqual(['lock.acquire and wait', 'lock.release']);
    expect([[...acquirer.leases.all], acquirer.idle]).toEqual([[], false]);
    await answer(true);
    expect(acquirer.idle).toBe(true);
  });

  it('waits for the replicas at each renewal, too, and leaves time for the reply', async () => {
    const { acquire, answer, registry } = openAcquirer({ replicas: 2, replicasTimeoutMs: 300 });
    const acquiring = acquire('a');
    await answer({ result: TAKEN, replicas: 2 });
    const lease = await acquiring;
    const extended = lease?.extend(400).catch((error: unknown) => error);
    expect(registry.last).toMatchObject({ script: 'lock.renew and wait', args: { leaseMs: 400 } });
    const { deadlineMs = 0, ...waits } = registry.last.options as { deadlineMs?: number };
    expect(waits).toEqual({ replicas: 2, timeoutMs: Math.floor(deadlineMs / 2) });
    expect(deadlineMs).toBeLessThanOrEqual(400);
    await answer({ result: true, replicas: 1 });
    const refused = { code: 'NOT_REPLICATED', during: 'renew', copies: 1, replicas: 2 };
    expect(await extended).toMatchObject(refused);
  });

  it('counts as in flight until its reply, and its lease until it is released', async () => {
    const { acquire, answer, acquirer } = openAcquirer();
    expect(acquirer.idle).toBe(true);
    const acquiring = acquire();
    expect(acquirer.idle).toBe(false);
    await answer(TAKEN);
    expect(acquirer.idle).toBe(false);
    void (await acquiring)?.release();
    await answer(true);
    expect(acquirer.idle).toBe(true);
    void acquire();
    await answer(BUSY);
    expect(acquirer.idle).toBe(true);
  });
});

describe('an acquisition with a signal', () => {
  const reason = new Error('the caller left');

  it('throws the reason of a signal that has fired, and sends nothing', async () => {
    const { acquire, registry } = openAcquirer();
    expect(await stateOf(acquire('a', { signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(registry.calls).toEqual([]);
  });

  it('ends when the signal fires, and releases what Redis grants later', async () => {
    const { acquire, answer, registry } = openAcquirer();
    const controller = new AbortController();
    const acquiring = acquire('a', { signal: controller.signal });
    controller.abort(reason);
    expect(await stateOf(acquiring)).toBe(reason);
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    await answer(TAKEN);
    expect(registry.scripts).toEqual(['lock.acquire', 'lock.release']);
  });

  it('leaves the signal when it has ended', async () => {
    const { acquire, answer } = openAcquirer();
    const { signal } = new AbortController();
    const acquiring = acquire('a', { signal });
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await answer(TAKEN);
    expect(await acquiring).toMatchObject({ held: true });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('ends its wait when the signal fires', async () => {
    const { acquire, answer, registry } = openAcquirer();
    const controller = new AbortController();
    const acquiring = acquire('a', { waitMs: 60_000, signal: controller.signal });
    await answer(BUSY);
    await answer(BUSY);
    controller.abort(reason);
    expect(await stateOf(acquiring)).toBe(reason);
    expect(registry.scripts).toEqual(['lock.acquire', 'lock.wait', 'lock.leave']);
  });
});

describe('after the close', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('acquisitions are refused', async () => {
    const { acquirer, acquire, registry } = openAcquirer();
    acquirer.close();
    expect(await stateOf(acquire())).toMatchObject(closed);
    expect(registry.calls).toEqual([]);
  });

  it('what Redis grants is released', async () => {
    const { acquirer, acquire, answer, registry } = openAcquirer();
    const acquiring = acquire();
    acquirer.close();
    await answer(TAKEN);
    expect(await stateOf(acquiring)).toMatchObject(closed);
    expect([registry.scripts, [...acquirer.leases.all]]).toEqual([['lock.acquire', 'lock.release'], []]);
  });

  it('nobody waits, and only waits that have not ended are cancelled', async () => {
    const { acquirer, acquire, answer, registry } = openAcquirer();
    void acquire('a', { waitMs: 60_000 });
    await answer(BUSY);
    await answer(TAKEN);
    const waiting = acquire('b', { waitMs: 60_000 });
    await answer(BUSY);
    await answer(BUSY);
    const cancel = jest.spyOn(Cancellation.prototype, 'cancel');
    acquirer.close();
    expect(await stateOf(waiting)).toMatchObject(closed);
    expect([cancel.mock.calls.length, registry.last.script]).toEqual([1, 'lock.leave']);
    await turn();
    // The timer of the lease that was acquired.
    expect(time.running).toEqual([1_000]);
  });
});
