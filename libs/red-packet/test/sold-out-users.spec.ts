import { FakeRegistry } from '../../../test/support/fake-registry';
import { ManualTime, turn } from '../../../test/support/manual-time';
import type { BucketReading } from '../src/buckets/bucket.scripts';
import type { BucketKeys, Layout } from '../src/buckets/layout';
import { SoldOutUsers } from '../src/grabs/sold-out-users';

const time = new ManualTime();
const layoutOf = (activityId: string, buckets = 2): Layout => ({
  activityId,
  buckets: Array.from({ length: buckets }, (_, i) => ({ grants: `grants${i}` }) as BucketKeys),
});
const sold = (parts: Partial<BucketReading> = {}): BucketReading =>
  ({
    ...{ state: 'open', pooled: 0, granted: 1, refundedPackets: 0, allPackets: 2, outgoing: [] },
    ...{ createdAtMs: 5, lastGrant: '1-0', soldOutMs: 100 },
    ...parts,
  }) as BucketReading;

function open() {
  const registry = new FakeRegistry();
  const state = { readings: [sold(), sold()] as BucketReading[] | Error, reads: 0 };
  const readAll = () => {
    state.reads += 1;
    return state.readings instanceof Error ? Promise.reject(state.readings) : Promise.resolve(state.readings);
  };
  const users = new SoldOutUsers(registry.asRegistry, { readAll } as never);
  /** Replies to the readings of winners, with one page for each bucket. */
  const answer = async (...pages: string[][]): Promise<void> => {
    await turn();
    for (const page of pages) {
      registry.last.reply.resolve({ cursor: '0', records: page.map((userId) => ({ userId })) });
      await turn();
    }
  };
  return { registry, users, state, answer };
}

describe('users of a sold-out activity', () => {
  it('have lost unless they are winners, until the memory ends', async () => {
    const { registry, users, answer } = open();
    expect(users.has('a', 'loser')).toBe(false);
    users.remember(layoutOf('a'));
    await answer(['winner'], ['other']);
    expect(registry.calls.map(({ keys, args }) => [keys, args])).toEqual([
      [{ hash: 'grants0' }, { cursor: '0', count: 1_000 }],
      [{ hash: 'grants1' }, { cursor: '0', count: 1_000 }],
    ]);
    expect(['winner', 'other', 'loser'].map((user) => users.has('a', user))).toEqual([false, false, true]);
    expect(users.has('b', 'loser')).toBe(false);
    time.now += 99;
    expect(users.has('a', 'loser')).toBe(true);
    time.now += 1;
    expect(users.has('a', 'loser')).toBe(false);
  });

  it('are read page by page', async () => {
    const { registry, users, answer } = open();
    users.remember(layoutOf('a', 1));
    await turn();
    registry.last.reply.resolve({ cursor: '7', records: [{ userId: 'first' }] });
    await turn();
    expect(registry.last.args).toEqual({ cursor: '7', count: 1_000 });
    await answer(['second']);
    expect(['first', 'second', 'loser'].map((user) => users.has('a', user))).toEqual([false, false, true]);
  });

  it('are read once at a time, and not again while they are remembered', async () => {
    const { users, state, answer } = open();
    users.remember(layoutOf('a', 1));
    users.remember(layoutOf('a', 1));
    await answer(['winner']);
    users.remember(layoutOf('a', 1));
    await turn();
    expect(state.reads).toBe(2);
  });

  it('stay known without another reading of winners if nothing was won since', async () => {
    const { registry, users, state, answer } = open();
    users.remember(layoutOf('a', 1));
    await answer(['winner']);
    time.now += 100;
    users.remember(layoutOf('a', 1));
    await turn();
    expect([registry.calls.length, state.reads, users.has('a', 'loser')]).toEqual([1, 3, true]);
    time.now += 100;
    state.readings = [sold({ lastGrant: '2-0' }), sold()];
    users.remember(layoutOf('a', 1));
    await answer(['winner', 'loser']);
    expect([registry.calls.length, users.has('a', 'loser')]).toEqual([2, false]);
  });

  it.each<[string, BucketReading[] | Error]>([
    ['packets are left', [sold(), sold({ granted: 0 })]],
    ['a bucket is paused', [sold(), sold({ state: 'paused' })]],
    ['a bucket has lost its outbox', [sold(), sold({ lastGrant: '' })]],
    ['it is not to be remembered', [sold(), sold({ soldOutMs: 0 })]],
    ['Redis fails', new Error('down')],
  ])('are not remembered if %s', async (_, readings) => {
    const { registry, users, state } = open();
    state.readings = readings;
    users.remember(layoutOf('a'));
    await turn();
    expect([registry.calls.length, users.has('a', 'loser')]).toEqual([0, false]);
    state.readings = [sold(), sold()];
    users.remember(layoutOf('a'));
    await turn();
    expect(registry.calls).toHaveLength(1);
  });

  it.each<[string, Partial<BucketReading>]>([
    ['somebody won', { lastGrant: '9-0' }],
    ['somebody won, and Redis lost the row', { granted: 2 }],
    ['the id was used again', { createdAtMs: 6 }],
    ['a bucket was closed', { state: 'closed' }],
  ])('are not remembered if %s while they were read', async (_, parts) => {
    const { users, state, answer } = open();
    users.remember(layoutOf('a', 1));
    await turn();
    state.readings = [sold(), sold(parts)];
    await answer(['winner']);
    expect(users.has('a', 'loser')).toBe(false);
  });

  it('of the last 32 activities are remembered', async () => {
    const { users, answer } = open();
    for (let i = 0; i < 33; i++) {
      users.remember(layoutOf(`a${i}`, 1));
      await answer(['winner']);
    }
    expect([users.has('a0', 'loser'), users.has('a1', 'loser'), users.has('a32', 'loser')]).toEqual([
      false,
      true,
      true,
    ]);
  });

  it('are forgotten at the end, also those that are being read', async () => {
    const { registry, users, answer } = open();
    users.remember(layoutOf('a', 1));
    await answer(['winner']);
    users.remember(layoutOf('b', 1));
    await turn();
    users.close();
    expect(users.has('a', 'loser')).toBe(false);
    await answer(['winner']);
    expect(users.has('b', 'loser')).toBe(false);
    const calls = registry.calls.length;
    users.remember(layoutOf('c', 1));
    await turn();
    expect(registry.calls).toHaveLength(calls);
  });
});
