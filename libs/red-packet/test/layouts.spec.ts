import { KeySpace } from 'luanest/script-registry';
import { ManualTime } from '../../../test/support/manual-time';
import { slotOf, spread } from '../../internal/src';
import { homeOf, keysOf, Layouts, type BucketKeys } from '../src/buckets/layout';

const time = new ManualTime();
const valuesOf = (keys: BucketKeys): string[] => Object.values(keys) as string[];
const open = () => new Layouts(new KeySpace('p', 'red-packet'), new KeySpace('p', 'stream-consumer'));

describe('the keys of an activity', () => {
  it('are under the hash tag of its id', () => {
    const [bucket] = open().root('a').buckets;
    expect(bucket).toMatchObject({
      meta: 'p:red-packet:{a}:meta',
      pool: 'p:red-packet:{a}:pool',
      grants: 'p:red-packet:{a}:grants',
      outbox: 'p:red-packet:{a}:outbox',
      tries: 'p:red-packet:{a}:tries',
      moves: 'p:red-packet:{a}:moves',
      voids: 'p:red-packet:{a}:voids',
      refunds: 'p:red-packet:{a}:refunds',
    });
    const { dead, sessions, takes, due, attempts } = bucket as NonNullable<typeof bucket>;
    const ofPayouts = { dead, sessions, takes, due, tries: attempts };
    for (const [name, key] of Object.entries(ofPayouts)) {
      expect(key).toMatch(/^p:stream-consumer:/);
      expect(key).toContain(`:${name}:payouts:`);
      expect(slotOf(key)).toBe(slotOf(bucket?.meta as string));
    }
    expect(new Set(Object.values(bucket ?? {})).size).toBe(13);
  });

  it.each([2, 3, 16])('with %i buckets are in the middle of the range of each bucket', (count) => {
    const { activityId, buckets } = open().build('a', count);
    expect([activityId, buckets.length]).toEqual(['a', count]);
    for (const [i, keys] of buckets.entries()) {
      const share = 16_384 / count;
      for (const key of valuesOf(keys)) {
        expect(slotOf(key)).toBeGreaterThanOrEqual((i + 0.25) * share);
        expect(slotOf(key)).toBeLessThan((i + 0.75) * share);
      }
      expect(keys.meta).toMatch(new RegExp(`^p:red-packet:\\{a~${count}~${i}~\\d+\\}:meta:b${i}$`));
      expect(
        valuesOf(keys)
          .slice(0, 8)
          .every((key) => key.endsWith(`:b${i}`)),
      ).toBe(true);
    }
    expect(new Set(buckets.flatMap(valuesOf)).size).toBe(13 * count);
  });

  it('with one bucket are those of the root', () => {
    const layouts = open();
    expect(layouts.build('a', 1)).toBe(layouts.root('a'));
  });

  it('of a bucket that the activity does not have are an error', () => {
    const layout = open().build('a', 2);
    expect(keysOf(layout, 1)).toBe(layout.buckets[1]);
    expect(() => keysOf(layout, 2)).toThrow(new RangeError('bucket is 2. Expected an integer from 0 to 1.'));
  });
});

describe('the bucket of a user', () => {
  it('is always the same, and users are on all buckets', () => {
    const layouts = open();
    const layout = layouts.build('a', 4);
    const homes = Array.from({ length: 200 }, (_, i) => homeOf(layout, `u${i}`));
    expect(new Set(homes)).toEqual(new Set([0, 1, 2, 3]));
    expect(homeOf(layout, 'u7')).toBe(spread('u7') % 4);
    expect(homeOf(layouts.root('a'), 'u7')).toBe(0);
  });
});

describe('the layouts of a process', () => {
  it('remember the number of buckets, until they forget it', () => {
    const layouts = open();
    expect(layouts.of('a')).toBe(layouts.root('a'));
    const sharded = layouts.remember('a', 3);
    expect([sharded.buckets.length, layouts.of('a'), layouts.remember('a', 3)]).toEqual([3, sharded, sharded]);
    expect(layouts.remember('a', 3)).toBe(sharded);
    expect(layouts.of('b').buckets).toHaveLength(1);
    expect(layouts.remember('a', 2).buckets).toHaveLength(2);
    layouts.forget('a');
    expect(layouts.of('a')).toBe(layouts.root('a'));
  });

  it('keep the last 1,000 roots', () => {
    const layouts = open();
    const [first, second] = [layouts.root('first'), layouts.root('second')];
    for (let i = 0; i < 998; i++) layouts.root(`r${i}`);
    expect([layouts.root('first') === first, layouts.root('second') === second]).toEqual([true, true]);
    layouts.root('one more');
    expect([layouts.root('second') === second, layouts.root('first') === first]).toEqual([true, false]);
  });

  it('keep the last 1,000 numbers of buckets', () => {
    const layouts = open();
    for (let i = 0; i < 1_000; i++) layouts.remember(`r${i}`, 2);
    expect([layouts.of('r0').buckets.length, layouts.of('r1').buckets.length]).toEqual([2, 2]);
    layouts.remember('one more', 2);
    expect([layouts.of('r0').buckets.length, layouts.of('r1').buckets.length]).toEqual([1, 2]);
  });

  it('are fresh for two seconds after they were read', () => {
    const layouts = open();
    const layout = layouts.root('a');
    expect(layouts.fresh('a')).toBeUndefined();
    layouts.confirm(layout);
    expect(layouts.fresh('b')).toBeUndefined();
    time.now += 1_999;
    expect(layouts.fresh('a')).toBe(layout);
    time.now += 1;
    expect(layouts.fresh('a')).toBeUndefined();
    layouts.confirm(layout);
    expect(layouts.fresh('a')).toBe(layout);
    layouts.forget('a');
    expect(layouts.fresh('a')).toBeUndefined();
  });

  it('keep the last 1,000 readings', () => {
    const layouts = open();
    for (let i = 0; i < 1_000; i++) layouts.confirm({ activityId: `a${i}`, buckets: [] });
    layouts.confirm({ activityId: 'a0', buckets: [] });
    expect([layouts.fresh('a0'), layouts.fresh('a1')]).not.toContain(undefined);
    layouts.confirm({ activityId: 'one more', buckets: [] });
    expect([layouts.fresh('a1'), layouts.fresh('a2')?.activityId, layouts.fresh('a0')?.activityId]).toEqual([
      undefined,
      'a2',
      'a0',
    ]);
  });
});
