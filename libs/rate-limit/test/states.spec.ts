import { NOW, ScriptStates } from '../../../test/support/script-states';
import { block, consumeFixedWindow, consumeFixedWindows, rateLimitScripts } from '../src/rate-limit.scripts';

describe('each script of fixed windows, in a state and at a time of which all is known,', () => {
  const states = new ScriptStates(rateLimitScripts);
  const { clock } = states;

  /** Limits 10 and 5, windows of 1 s and 2 s, costs 3 and 1. */
  const rules = [10, 1_000, 3, 5, 2_000, 1];
  const both = () =>
    states.call(consumeFixedWindows, { rules }, { counters: ['first', 'second'] }) as Promise<number[]>;
  const one = (cost = 3) =>
    states.call(consumeFixedWindow, { limit: 10, windowMs: 1_000, cost }, { counter: 'first' }) as Promise<number>;
  const state = (key: string) => states.keys()[key];

  it('consume-fixed-windows: charges all rules, each in its window', async () => {
    expect(await both()).toEqual([3, 1_000, 1, 2_000]);
    expect(states.keys()).toEqual({ first: '3 | 1000', second: '1 | 2000' });
    clock.set(NOW + 1);
    expect(await both()).toEqual([6, 999, 2, 1_999]);
    expect(states.keys()).toEqual({ first: '6 | 999', second: '2 | 1999' });
  });

  it('consume-fixed-windows: charges none if one refuses', async () => {
    states.put('SET', 'first', 7, 'PX', 400);
    states.put('SET', 'second', 5, 'PX', 300);
    expect(await both()).toEqual([10, 400, 6, 300]);
    expect(states.keys()).toEqual({ first: '7 | 400', second: '5 | 300' });
    states.put('DEL', 'first');
    expect(await both()).toEqual([3, 1_000, 6, 300]);
    expect(state('first')).toBeUndefined();
    states.put('SET', 'second', 1, 'PX', 300);
    states.put('SET', 'first', 8, 'PX', 400);
    expect(await both()).toEqual([11, 400, 2, 300]);
  });

  it.each([
    ['has no TTL', '1', -1, '4', 4],
    ['has a TTL longer than the window', '1', 1_001, '4', 4],
    ['is negative', '-4', 500, '3', 3],
    ['is negative, and 0 with this request', '-3', 500, '3', 3],
  ])('both: begin a window if the count %s', async (_, count, ttlMs, value, used) => {
    const put = () => (ttlMs < 0 ? states.put('SET', 'first', count) : states.put('SET', 'first', count, 'PX', ttlMs));
    put();
    expect((await both()).slice(0, 2)).toEqual([used, 1_000]);
    expect(state('first')).toBe(`${value} | 1000`);
    put();
    expect(await one()).toBe(used * 1_001 + 1_000);
    expect(state('first')).toBe(`${value} | 1000`);
  });

  it.each([
    [0, [3, 1_000], 1_000],
    [1, [7, 1], 1],
    [1_000, [7, 1_000], 1_000],
  ])('both: go on with a window that ends in %i ms, but for one that ends now', async (ttlMs, windows, left) => {
    const put = () => {
      clock.set(NOW);
      states.put('SET', 'first', 4, 'PX', ttlMs + 5);
      clock.set(NOW + 5);
    };
    put();
    expect((await both()).slice(0, 2)).toEqual(windows);
    expect(state('first')).toBe(`${windows[0]} | ${left}`);
    put();
    expect(await one()).toBe((windows[0] ?? 0) * 1_001 + (windows[1] ?? 0));
    expect(state('first')).toBe(`${windows[0]} | ${left}`);
  });

  it('consume-fixed-windows: keeps a count that this request raises to 1', async () => {
    states.put('SET', 'first', -2, 'PX', 500);
    expect((await both()).slice(0, 2)).toEqual([1, 1_000]);
    expect(state('first')).toBe('1 | 1000');
  });

  it('consume-fixed-window: refuses, and takes its charge back', async () => {
    states.put('SET', 'first', 8, 'PX', 400);
    expect(await one()).toEqual([8, 400]);
    expect(state('first')).toBe('8 | 400');
    expect(await one(2)).toBe(10 * 1_001 + 400);
  });

  it.each([
    ['the mark of a reset', 2 ** 51],
    ['hits after a reset', 2 ** 51 + 4],
    ['the mark of a block', 2 ** 52],
  ])('both: leave a counter with %s to consume, and charge nothing', async (_, mark) => {
    for (const ttl of [400, 1_001]) {
      states.put('SET', 'first', mark, 'PX', ttl);
      expect([await one(), await both()]).toEqual([0, 0]);
      expect(states.keys()).toEqual({ first: `${mark} | ${ttl}` });
    }
    states.put('SET', 'second', mark, 'PX', 400);
    states.put('SET', 'first', 2, 'PX', 400);
    expect(await both()).toBe(0);
    expect(states.keys()).toEqual({ first: '2 | 400', second: `${mark} | 400` });
  });

  it('both: refuse on a count just below the marks', async () => {
    const count = 2 ** 51 - 4;
    states.put('SET', 'first', count, 'PX', 400);
    expect([await one(), await both()]).toEqual([
      [count, 400],
      [count + 3, 400, 1, 2_000],
    ]);
    expect(states.keys()).toEqual({ first: `${count} | 400` });
  });

  it('both: leave a value that is not a count to consume', async () => {
    states.put('SET', 'first', 'x', 'PX', 400);
    expect([await one(), await both()]).toEqual([0, 0]);
    expect(states.keys()).toEqual({ first: 'x | 400' });
    states.put('SET', 'second', 'x', 'PX', 400);
    states.put('DEL', 'first');
    expect(await both()).toBe(0);
    expect(states.keys()).toEqual({ second: 'x | 400' });
  });

  it('block: keeps the strikes of the penalty, and lasts as long as it says', async () => {
    const run = () => states.call(block, { blockMs: 1_000, memoryMs: 500 }, { state: 'first', penalty: 'second' });
    expect(await run()).toBe(0);
    expect(state('first')).toBe(`${2 ** 52} | 1000`);
    expect(state('second')).toBe(`${NOW + 1_000}:0 | 1500`);
    states.put('SET', 'second', `${NOW}:4`);
    expect(await run()).toBe(4);
    expect(state('second')).toBe(`${NOW + 1_000}:4 | 1500`);
  });
});
