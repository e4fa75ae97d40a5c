import { KeySpace } from 'luanest/script-registry';
import { ManualTime } from '../../../test/support/manual-time';
import { slotOf, spread } from '../../internal/src';
import { homeOf, keysOf, Layouts, type BucketKeys } from '../src/buckets/layout';

const time = new ManualTime();
const valuesOf = (keys: BucketKeys): string[] => Object.values(keys) as string[];
const open = (partitions = 16) => new Layouts(new KeySpace('p', 'red-packet'), partitions);

describe('the keys of an activity', () => {
  it('are under the hash tag of a partition, and end in its id', () => {
    const [{ outbox, ...bucket } = {} as BucketKeys] = open().root('a:{b}').buckets;
    const tag = /\{(\d+)\}/.exec(outbox)?.[1] ?? '';
    expect(outbox).toBe(`p:red-packet:{${tag}}:outbox`);
    for (const [name, key] of Object.entries(bucket)) expect(key).toBe(`p:red-packet:{${tag}}:${name}:a%3A%7Bb%7D`);
    expect(Object.keys(bucket)).toHaveLength(8);
  });

  it.each([1, 2, 16, 1_024])('have as many outboxes as there are partitions: %i', (partitions) => {
    const { outboxes } = open(partitions);
    const share = 16_384 / partitions;
    expect(outboxes.map((key) => Math.floor(slotOf(key) / share))).toEqual(outboxes.map((_, i) => i));
    expect(outboxes).toHaveLength(partitions);
  });

  it.each([2, 3, 8, 16, 64])('with %i buckets are evenly distributed over the partitions', (count) => {
    const layouts = open();
    const { activityId, buckets } = layouts.build('a', count);
    expect([activityId, buckets.length]).toEqual(['a', count]);
    const partitions = buckets.map(({ outbox }) => layouts.outboxes.indexOf(outbox));
    const perPartition = layouts.outboxes.map((_, i) => partitions.filter((each) => each === i).length);
    expect(Math.max(...perPartition) - Math.min(...perPartition)).toBeLessThanOrEqual(1);
    // Four masters with equally many adjacent slots have equally many buckets, or differ by one.
    const perMaster = [0, 1, 2, 3].map((i) => partitions.filter((each) => Math.floor(each / 4) === i).length);
    expect(Math.max(...perMaster) - Math.min(...perMaster)).toBeLessThanOrEqual(1);
    for (const [i, { outbox, ...keys }] of buckets.entries()) {
      for (const key of Object.values(keys)) {
        expect(slotOf(key)).toBe(slotOf(outbox));
        expect(key.endsWith(`:a:${i}-${count}`)).toBe(true);
      }
    }
    expect(new Set(buckets.flatMap(({ outbox, ...keys }) => [valuesOf(keys as BucketKeys), outbox].flat())).size).toBe(
      8 * count + Math.min(count, 16),
    );
  });

  it('with several buckets are other keys than those of an activity whose id looks like them', () => {
    const layouts = open(1);
    const [{ meta } = {} as BucketKeys] = layouts.build('a', 2).buckets;
    for (const id of ['a:0-2', 'a%3A0-2', 'a']) expect(layouts.root(id).buckets[0]?.meta).not.toBe(meta);
  });

  it('with one bucket are those of the root', () => {
    const layouts = open();
    expect(layouts.build('a', 1)).toBe(layouts.root('a'));
  });

  it('of a bucket that the activity does not have are an error', () => {
    const layout = open().build('a', 2);
    expect(keysOf(layout, 1)).toBe(layout.buckets[1]);
    expect(() => keysOf(layout, 2)).toThrow(
      new RangeError('RedPacketModule: bucket is 2. Expected an integer from 0 to 1.'),
    );
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
