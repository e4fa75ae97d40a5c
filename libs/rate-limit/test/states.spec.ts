import type { Redis } from 'ioredis';
import type { ScriptRegistry } from 'luanest/script-registry';
import { openRegistry } from '../../script-registry/test/support';
import { ManualClock } from '../../testing/src/redis/clock';
import { MemoryRedis } from '../../testing/src/redis/memory-redis';
import { block, consumeFixedWindow, consumeFixedWindows, rateLimitScripts } from '../src/rate-limit.scripts';

/** Time of Redis, ms. It stands still, so each script is called in exactly the state that the test made. */
const NOW = 1_800_000_000_000;

describe('each script of fixed windows, in a state and at a time of which all is known,', () => {
  const clock = new ManualClock(NOW);
  const memory = new MemoryRedis({ clock });
  const [first, second] = ['states:{a}:1', 'states:{a}:2'];
  let client: Redis;
  let registry: ScriptRegistry;

  beforeEach(async () => {
    clock.set(NOW);
    memory.run('FLUSHALL');
    client = memory.client();
    registry = await openRegistry(client, { prefix: 'states', preload: 'required' }, rateLimitScripts);
  });
  afterEach(() => {
    registry.close();
    client.disconnect();
  });

  /** Limits 10 and 5, windows of 1 s and 2 s, costs 3 and 1. */
  const parameters = JSON.stringify([10, 1_000, '3', 5, 2_000, '1']);
  const both = () => registry.run(consumeFixedWindows, { keys: { counters: [first, second] }, args: { parameters } });
  const one = (cost = 3) =>
    registry.run(consumeFixedWindow, { keys: { counter: first }, args: { limit: 10, windowMs: 1_000, cost } });
  const state = (key: string) => Promise.all([client.get(key), client.pttl(key)]);

  it('consume-fixed-windows: charges all rules, each in its window', async () => {
    expect(await both()).toEqual([3, 1_000, 1, 2_000]);
    expect([await state(first), await state(second)]).toEqual([
      ['3', 1_000],
      ['1', 2_000],
    ]);
    clock.set(NOW + 1);
    expect(await both()).toEqual([6, 999, 2, 1_999]);
    expect([await state(first), await state(second)]).toEqual([
      ['6', 999],
      ['2', 1_999],
    ]);
  });

  it('consume-fixed-windows: charges none if one refuses', async () => {
    await client.set(first, 7, 'PX', 400);
    await client.set(second, 5, 'PX', 300);
    expect(await both()).toEqual([10, 400, 6, 300]);
    expect([await state(first), await state(second)]).toEqual([
      ['7', 400],
      ['5', 300],
    ]);
    await client.del(first);
    expect(await both()).toEqual([3, 1_000, 6, 300]);
    expect(await client.exists(first)).toBe(0);
    await client.set(second, 1, 'PX', 300);
    await client.set(first, 8, 'PX', 400);
    expect(await both()).toEqual([11, 400, 2, 300]);
  });

  it.each([
    ['has no TTL', '1', -1, '4', 4],
    ['has a TTL longer than the window', '1', 1_001, '4', 4],
    ['is negative', '-4', 500, '3', 3],
    ['is negative, and 0 with this request', '-3', 500, '3', 3],
  ])('both: begin a window if the count %s', async (_, count, ttlMs, value, used) => {
    const put = () => (ttlMs < 0 ? client.set(first, count) : client.set(first, count, 'PX', ttlMs));
    await put();
    expect((await both()).slice(0, 2)).toEqual([used, 1_000]);
    expect(await state(first)).toEqual([value, 1_000]);
    await put();
    expect(await one()).toBe(used * 1_001 + 1_000);
    expect(await state(first)).toEqual([value, 1_000]);
  });

  it.each([
    [0, [3, 1_000], 1_000],
    [1, [7, 1], 1],
    [1_000, [7, 1_000], 1_000],
  ])('both: go on with a window that ends in %i ms, but for one that ends now', async (ttlMs, windows, left) => {
    const put = async () => {
      clock.set(NOW);
      await client.set(first, 4, 'PX', ttlMs + 5);
      clock.set(NOW + 5);
    };
    await put();
    expect((await both()).slice(0, 2)).toEqual(windows);
    expect(await state(first)).toEqual([String(windows[0]), left]);
    await put();
    expect(await one()).toBe((windows[0] ?? 0) * 1_001 + (windows[1] ?? 0));
    expect(await state(first)).toEqual([String(windows[0]), left]);
  });

  it('consume-fixed-window: refuses, and takes its charge back', async () => {
    await client.set(first, 8, 'PX', 400);
    expect(await one()).toEqual([8, 400]);
    expect(await state(first)).toEqual(['8', 400]);
    expect(await one(2)).toBe(10 * 1_001 + 400);
  });

  it('consume-fixed-windows: fails on a block, and changes nothing', async () => {
    await client.set(second, 'blocked', 'PX', 400);
    await expect(both()).rejects.toThrow(/NOCOUNTER INCRBY failed on KEYS\[2\]/);
    expect(await client.exists(first)).toBe(0);
    expect(await state(second)).toEqual(['blocked', 400]);
  });

  it('block: keeps the strikes of the penalty, and lasts as long as it says', async () => {
    const run = () =>
      registry.run(block, { keys: { state: first, penalty: second }, args: { blockMs: 1_000, memoryMs: 500 } });
    expect(await run()).toBe(0);
    expect(await state(first)).toEqual(['blocked', 1_000]);
    expect(await state(second)).toEqual([`${NOW + 1_000}:0`, 1_500]);
    await client.set(second, `${NOW}:4`);
    expect(await run()).toBe(4);
    expect(await state(second)).toEqual([`${NOW + 1_000}:4`, 1_500]);
  });
});
