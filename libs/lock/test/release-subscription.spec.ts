import { LockEvents } from 'luanest/lock';
import type { ScriptRegistry } from 'luanest/script-registry';
import { ReleaseSubscription } from '../src/locks/wait-queue';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { Published } from '../../../test/support/published';
import { pending, stateOf, type Pending } from '../../../test/support/replies';

describe('the subscription to the releases of a lock', () => {
  const time = new ManualTime();
  const events = new Published(LockEvents);

  /** A subscription whose calls of Redis the test answers. */
  function open() {
    const seen = { releases: 0, stopped: [] as number[] };
    const listens: { key: string; message: () => void; reply: Pending<() => void> }[] = [];
    const listen = (key: string, message: () => void): Promise<() => void> => {
      const reply = pending<() => void>();
      listens.push({ key, message, reply });
      return reply.promise;
    };
    const subscription = new ReleaseSubscription(
      { listen } as unknown as ScriptRegistry,
      'a',
      'key of a',
      () => void (seen.releases += 1),
    );
    const answer = (i: number): void => listens[i]?.reply.resolve(() => void seen.stopped.push(i));
    return { subscription, seen, listens, answer };
  }

  it('listens to the channel of the lock, and reports its messages', async () => {
    const { subscription, seen, listens, answer } = open();
    const opened = subscription.open(100);
    expect([listens.map(({ key }) => key), subscription.active]).toEqual([['key of a'], false]);
    expect(await stateOf(opened)).toBe('pending');
    answer(0);
    expect(await stateOf(opened)).toBeUndefined();
    expect([subscription.active, seen, time.running]).toEqual([true, { releases: 0, stopped: [] }, []]);
    listens[0]?.message();
    expect(seen.releases).toBe(1);
  });

  it('waits only for its time, and reports a release if it succeeds later', async () => {
    const { subscription, seen, listens, answer } = open();
    const opened = subscription.open(100);
    await time.pass(99);
    expect(await stateOf(opened)).toBe('pending');
    await time.pass(1);
    expect(await stateOf(opened)).toBeUndefined();
    const again = subscription.open(100);
    expect(listens).toHaveLength(1);
    answer(0);
    await again;
    expect([seen.releases, subscription.active]).toEqual([1, true]);
  });

  it('reports no release if it fails later', async () => {
    const { subscription, seen, listens } = open();
    const opened = subscription.open(100);
    await time.pass(100);
    await opened;
    listens[0]?.reply.reject(new Error('no connection'));
    await turn();
    expect([seen.releases, subscription.active]).toEqual([0, false]);
  });

  it('subscribes again each time, and then stops the older subscription', async () => {
    const { subscription, seen, listens, answer } = open();
    void subscription.open(100);
    answer(0);
    await turn();
    void subscription.open(100);
    await turn();
    expect([listens.length, seen.stopped, subscription.active]).toEqual([2, [], true]);
    answer(1);
    await turn();
    expect(seen.stopped).toEqual([0]);
    listens[0]?.message();
    expect(seen.releases).toBe(0);
    listens[1]?.message();
    expect(seen.releases).toBe(1);
  });

  it('is inactive after a failure, which is published', async () => {
    const { subscription, seen, listens, answer } = open();
    void subscription.open(100);
    answer(0);
    await turn();
    const opened = subscription.open(100);
    const error = new Error('no connection');
    listens[1]?.reply.reject(error);
    await opened;
    expect([subscription.active, seen]).toEqual([false, { releases: 0, stopped: [0] }]);
    expect(events.take()).toEqual([['callFailed', { name: 'a', during: 'subscribe', error }]]);
  });

  it('stops when it is closed', async () => {
    const { subscription, seen, listens, answer } = open();
    void subscription.open(100);
    answer(0);
    await turn();
    subscription.close();
    expect([subscription.active, seen.stopped]).toEqual([false, [0]]);
    listens[0]?.message();
    expect(seen.releases).toBe(0);
    subscription.close();
    expect(seen.stopped).toEqual([0]);
  });

  it('that succeeds after the close stops at once, and reports nothing', async () => {
    const { subscription, seen, answer } = open();
    const opened = subscription.open(100);
    await time.pass(100);
    await opened;
    subscription.close();
    answer(0);
    await turn();
    expect([subscription.active, seen]).toEqual([false, { releases: 0, stopped: [0] }]);
  });
});
