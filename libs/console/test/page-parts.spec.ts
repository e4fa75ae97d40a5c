import { roundUp, summed } from '../page/counts.js';
import { readFilter, writeFilter } from '../page/filters.js';
import { absolute, asInput, bytes, count, duration, payloadText, since } from '../page/format.js';
import { hashOf, readRoute } from '../page/route.js';

describe('addresses', () => {
  it.each([
    [['queues', 'tasks', 'emails', 'a/b?c=d#e']],
    [['locks', 'held', '']],
    [['locks', 'held', '~find']],
    [['once', 'claims', '你好 %41&']],
  ])('come back from the hash: %j', (address) => {
    const query = { filter: 'dead queue:a&b', cursor: '1|x' };
    expect(readRoute(hashOf(address, query))).toEqual({ screen: 'at', address, query });
  });

  it('are the overview without a hash, and keep what is not encoded correctly', () => {
    for (const hash of ['', '#', '#/']) expect(readRoute(hash)).toMatchObject({ screen: 'overview', address: [] });
    expect(readRoute('#/locks/held/100%')).toMatchObject({ address: ['locks', 'held', '100%'] });
  });

  it('leave out empty settings', () => {
    expect(hashOf(['a'], { filter: '', cursor: undefined })).toBe('#/a');
    expect(hashOf('find', { id: 'x y' })).toBe('#/~find?id=x+y');
    expect(readRoute('#/~find?id=x+y')).toMatchObject({ screen: 'find', query: { id: 'x y' } });
  });
});

describe('filters', () => {
  const known = ['waiting', 'dead', 'queue:', 'name:'];

  it.each([
    ['', '', {}],
    ['dead', 'dead', {}],
    ['queue:emails', '', { 'queue:': 'emails' }],
    ['dead name:send mail queue:a:b', 'dead', { 'name:': 'send mail', 'queue:': 'a:b' }],
  ])('%j has a state and texts', (filter, state, texts) => {
    expect(readFilter(filter, known)).toEqual({ state, texts });
    expect(writeFilter({ state, texts })).toBe(filter);
  });

  it('drop a text that was emptied', () => {
    expect(writeFilter({ state: 'dead', texts: { 'queue:': ' ', 'name:': ' x ' } })).toBe('dead name:x');
  });
});

describe('times', () => {
  it.each([
    [0, '0 ms', '0 毫秒'],
    [999, '999 ms', '999 毫秒'],
    [1_500, '1.5 s', '1.5 秒'],
    [59_999, '59 s', '59 秒'],
    [61_000, '1 min 01 s', '1 分 01 秒'],
    [3_600_000, '1 h', '1 小时'],
    [7_500_000, '2 h 05 min', '2 小时 05 分'],
    [-7_500_000, '−2 h 05 min', '−2 小时 05 分'],
    [90_000_000, '1 d 01 h', '1 天 01 小时'],
    [86_400_000_000, '1,000 d', '1,000 天'],
  ])('%i ms last %s', (ms, en, zh) => {
    expect(duration(ms, 'en')).toBe(en);
    expect(duration(ms, 'zh')).toBe(zh);
  });

  it('are written as time since, in whole units', () => {
    expect(since(1_000, 1_500, 'en')).toBe('now');
    expect(since(0, 185_000, 'en')).toBe('3 min ago');
    expect(since(0, 185_000, 'zh')).toBe('3 分前');
    expect(since(7_300_000, 0, 'en')).toBe('in 2 h');
    expect(since(0, 47 * 3_600_000, 'en')).toBe('1 d 23 h ago');
  });

  it('are exact in the zone of the browser, also where there is no such day', () => {
    const atMs = 1_764_383_467_123;
    expect(
      new Date(
        absolute(atMs)
          .replace(/ ([+-]\d\d:\d\d)$/, '$1')
          .replace(' ', 'T'),
      ).getTime(),
    ).toBe(atMs);
    expect(new Date(asInput(atMs)).getTime()).toBe(Math.floor(atMs / 1_000) * 1_000);
    expect(absolute(8.7e15)).toBe('8700000000000000');
  });
});

it('writes numbers, sizes and payloads', () => {
  expect(count(1_048_576, 'en')).toBe('1,048,576');
  expect([0, 999, 1_000, 184_320_000].map((size) => bytes(size, 'en'))).toEqual(['0 B', '999 B', '1 kB', '184 MB']);
  expect(payloadText({ a: [1] })).toBe('{\n  "a": [\n    1\n  ]\n}');
  expect(payloadText('{"a":1}')).toBe('{\n  "a": 1\n}');
  expect(payloadText('{"a":')).toBe('{"a":');
  expect(payloadText('12')).toBe('12');
});

describe('charts', () => {
  const MINUTE = 60_000;

  it('add up counts over whole steps, and leave out the first and the running one', () => {
    const endMs = 1_000 * MINUTE;
    const points = [
      [600 * MINUTE, { done: 1_000 }],
      [984 * MINUTE, { done: 4 }],
      [990 * MINUTE, { done: 3, failed: 1 }],
      [994 * MINUTE, { done: 2 }],
      [999 * MINUTE, { failed: 5 }],
      [1_000 * MINUTE, { done: 1_000 }],
    ] as const;
    const { times, lines } = summed(points, 360, endMs);
    expect(times).toHaveLength(71);
    expect(times.slice(-3)).toEqual([985, 990, 995].map((minute) => minute * MINUTE));
    expect(lines.map(({ name, line, total }) => [name, line.slice(-4), total])).toEqual([
      ['done', [4, 0, 5, 0], 9],
      ['failed', [0, 0, 1, 5], 6],
    ]);
  });

  it('have a round number at their top', () => {
    expect([0, 1, 3, 10, 11, 499, 501].map(roundUp)).toEqual([1, 1, 5, 10, 20, 500, 1_000]);
  });
});
