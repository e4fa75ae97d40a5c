import { Cancellation } from '../src/locks/wait-queue';
import type { Ticket } from '../src/locks/wait-queue';
import { TURN_MS, WaitQueue, type TryResult } from '../src/locks/wait-queue';
import type { LockLease } from '../src/locks/held-lock';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { pending, stateOf, type Pending } from '../../../test/support/replies';

const time = new ManualTime();

describe('callers of one process that wait for a lock', () => {
  const lease = { name: 'a' } as LockLease;
  const busy = (leftMs: number, ahead = 0): TryResult => ({ lease: undefined, leftMs, ahead });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  /** A queue whose tries the test answers. */
  function open({ active = true, random = 1, pollMs = 1_000 } = {}) {
    jest.spyOn(Math, 'random').mockReturnValue(random);
    const log: unknown[] = [];
    const tries: { ticket: Ticket; who: string; reply: Pending<TryResult> }[] = [];
    const releases = {
      active,
      open: (ms: number) => Promise.resolve(log.push(['open', ms])),
      close: () => log.push('close'),
    };
    const queue = new WaitQueue({
      pollMs,
      releases: releases as never,
      ticket: 'mine',
      leave: () => log.push('leave'),
      onEmpty: () => log.push('empty'),
    });
    const wait = (who: string, ms = 60_000, cancellation = new Cancellation()) =>
      queue.wait(time.now + ms, cancellation, (ticket) => {
        const reply = pending<TryResult>();
        tries.push({ ticket, who, reply });
        return reply.promise;
      });
    const answer = async (result: TryResult): Promise<void> => {
      tries.at(-1)?.reply.resolve(result);
      await turn();
    };
    return { queue, log, tries, wait, answer, releases };
  }

  it('subscribe, then try with their ticket, and leave nothing behind once they have the lock', async () => {
    const { log, tries, wait, answer } = open();
    const waiting = wait('a');
    await turn();
    expect(tries).toMatchObject([{ ticket: { ticket: 'mine', countsMs: 3_000, turnMs: 250 } }]);
    expect([log, TURN_MS]).toEqual([[['open', 100]], 250]);
    await answer({ lease, leftMs: 0, ahead: 0 });
    expect(await waiting).toBe(lease);
    expect([log, time.running]).toEqual([[['open', 100], 'close', 'empty'], []]);
  });

  it('wait for the subscription no longer than until the end of their wait', async () => {
    const { log, wait } = open();
    void wait('a', 40);
    await turn();
    expect(log).toEqual([['open', 40]]);
  });

  it('leave the queue at the end of their wait', async () => {
    const { log, wait, answer, tries } = open();
    const waiting = wait('a', 700);
    await turn();
    await answer(busy(5_000));
    expect(time.running).toEqual([700]);
    await time.pass(700);
    expect([await stateOf(waiting), tries.length]).toEqual([undefined, 1]);
    expect(log).toEqual([['open', 100], 'close', 'leave', 'empty']);
  });

  it('whose time is over before their turn do not try', async () => {
    const { log, wait, tries } = open();
    expect(await wait('a', 0)).toBeUndefined();
    expect([log, tries]).toEqual([['close', 'empty'], []]);
  });

  it('leave the queue after a try that failed, because their ticket may be in it', async () => {
    const { log, tries, wait } = open();
    const waiting = wait('a');
    await turn();
    const error = new Error('no reply');
    tries[0]?.reply.reject(error);
    expect(await stateOf(waiting)).toBe(error);
    expect(log).toEqual([['open', 100], 'close', 'leave', 'empty']);
  });

  it.each([
    ['after the lease', true, 1, 800, 0, 801],
    ['after the poll', true, 1, 60_000, 0, 1_000],
    ['after half the poll at least', true, 0, 60_000, 0, 500],
    ['after a poll at random', true, 0.5, 60_000, 0, 750],
    ['before the turn ends, without a subscription', false, 1, 60_000, 0, 125],
    ['after the poll, without a subscription behind others', false, 1, 60_000, 1, 1_000],
  ])('try again %s', async (_, active, random, leftMs, ahead, afterMs) => {
    const { wait, answer, tries } = open({ active, random });
    void wait('a');
    await turn();
    await answer(busy(leftMs, ahead));
    expect(time.running).toEqual([afterMs]);
    await time.pass(afterMs - 1);
    expect(tries).toHaveLength(1);
    await time.pass(1);
    expect(tries).toHaveLength(2);
  });

  it('poll more often than their turn ends, without a subscription', async () => {
    const { wait, answer } = open({ active: false, pollMs: 60 });
    void wait('a');
    await turn();
    await answer(busy(60_000));
    expect(time.running).toEqual([60]);
  });

  it('pause for at least a millisecond', async () => {
    const { wait, answer } = open({ random: 0, pollMs: 1 });
    void wait('a');
    await turn();
    await answer(busy(60_000));
    expect(time.running).toEqual([1]);
  });

  it('get the lock first come, first served', async () => {
    const { tries, wait, answer } = open();
    const [first, second] = [wait('first'), wait('second', 500)];
    await turn();
    expect(tries.map(({ who }) => who)).toEqual(['first']);
    expect(time.running).toEqual([500]);
    await answer({ lease, leftMs: 0, ahead: 0 });
    expect(await stateOf(first)).toBe(lease);
    expect(tries.map(({ who }) => who)).toEqual(['first', 'second']);
    await answer({ lease, leftMs: 0, ahead: 0 });
    expect(await stateOf(second)).toBe(lease);
  });

  it('keep the order when one behind leaves', async () => {
    const { tries, wait, answer, log, queue } = open();
    void wait('first');
    const second = wait('second', 500);
    void wait('third');
    await turn();
    await answer(busy(60_000));
    await time.pass(500);
    expect(await stateOf(second)).toBeUndefined();
    expect(log).toEqual([['open', 100]]);
    queue.released();
    await turn();
    expect(tries.map(({ who }) => who)).toEqual(['first', 'first']);
    await answer({ lease, leftMs: 0, ahead: 0 });
    expect(tries.map(({ who }) => who)).toEqual(['first', 'first', 'third']);
  });

  it('end their wait when they are cancelled', async () => {
    const { log, wait, answer } = open();
    const cancellation = new Cancellation();
    const waiting = wait('a', 60_000, cancellation);
    await turn();
    await answer(busy(60_000));
    cancellation.cancel(new Error('the caller left'));
    expect(await stateOf(waiting)).toBeUndefined();
    expect(log).toEqual([['open', 100], 'close', 'leave', 'empty']);
  });

  it('try at once after a release if they are the first of all processes', async () => {
    const { queue, tries, wait, answer } = open();
    void wait('a');
    await turn();
    await answer(busy(60_000));
    queue.released();
    await turn();
    expect(tries).toHaveLength(2);
  });

  it('count the releases before their turn, and try if a process before them does not', async () => {
    const { queue, tries, wait, answer } = open({ pollMs: 10_000 });
    void wait('a');
    await turn();
    await answer(busy(60_000, 2));
    expect(time.running).toEqual([10_000]);
    queue.released();
    await turn();
    expect([tries.length, time.running]).toEqual([1, [250]]);
    await time.pass(100);
    queue.released();
    await turn();
    expect([tries.length, time.running]).toEqual([1, [150]]);
    queue.released();
    await turn();
    expect(tries).toHaveLength(2);
  });

  it('count a release that is reported during a try, because the reply may be older', async () => {
    const { queue, tries, wait, answer } = open({ pollMs: 10_000 });
    void wait('a');
    await turn();
    queue.released();
    await answer(busy(60_000, 1));
    expect([tries.length, time.running]).toEqual([1, [250]]);
    queue.released();
    await turn();
    expect(tries).toHaveLength(2);
    queue.released();
    await answer(busy(60_000));
    expect(tries).toHaveLength(3);
    await answer(busy(60_000));
    expect([tries.length, time.running]).toEqual([3, [10_000]]);
  });

  it('do not count a release from before a try', async () => {
    const { queue, tries, wait, answer } = open({ pollMs: 10_000 });
    void wait('a');
    await turn();
    await answer(busy(60_000));
    queue.released();
    await turn();
    await answer(busy(60_000, 3));
    expect([tries.length, time.running]).toEqual([2, [10_000]]);
  });

  it('of a queue that is empty are not needed for a release', () => {
    expect(() => open().queue.released()).not.toThrow();
  });
});
