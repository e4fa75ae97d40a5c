import { openBench, standalone, type Bench } from './support';

const windowMs = 600_000;
const plain = (name: string, limit = 3) => ({ name, limit, windowMs });

describe('a counter with a mark of block or reset', () => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await openBench(standalone(), {}, { cachedRefusals: 0 });
  });
  afterEach(() => bench.close());

  const keyOf = (name: string): string => `${bench.prefix}:rate-limit:{0}:fixed-window:${name}:${windowMs}:s`;
  const valueOf = (name: string): Promise<string | null> =>
    (bench.client as ReturnType<typeof standalone>).get(keyOf(name));

  it('of a blocked subject refuses, and stays as it is', async () => {
    const rule = plain('blocked');
    await bench.service.consume(rule, 's');
    await bench.service.block(rule, 's', 60_000);
    for (let i = 0; i < 3; i++) {
      expect(await bench.service.consume(rule, 's')).toMatchObject({
        ...{ allowed: false, reason: 'blocked', source: 'redis' },
        rules: [{ blocked: true, used: 0, remaining: 0 }],
      });
    }
    expect(await valueOf('blocked')).toBe(String(2 ** 52));
    expect(await bench.client.pttl(keyOf('blocked'))).toBeLessThanOrEqual(60_000);
    expect(await bench.service.peek(rule, 's')).toMatchObject({ reason: 'blocked' });
  });

  it('of one rule refuses a request of several, and no rule counts it', async () => {
    const [free, blocked] = [plain('free'), plain('held')];
    await bench.service.block(blocked, 's', 60_000);
    for (const rules of [
      [free, blocked],
      [blocked, free],
    ]) {
      const refused = await bench.service.consume(rules.map((rule) => ({ rule, subject: 's' })));
      expect(refused).toMatchObject({ allowed: false, reason: 'blocked' });
    }
    expect([await valueOf('free'), await valueOf('held')]).toEqual([null, String(2 ** 52)]);
  });

  it('counts again after a reset of the block, up to the limit, and is refunded', async () => {
    const rule = plain('freed');
    await bench.service.block(rule, 's', 60_000);
    expect(await bench.service.consume(rule, 's')).toMatchObject({ allowed: false, reason: 'blocked' });
    expect(await bench.service.reset(rule, 's')).toBe(true);
    expect(await valueOf('freed')).toBe(String(2 ** 51));
    const decisions = [];
    for (let i = 0; i < 4; i++) decisions.push(await bench.service.consume(rule, 's'));
    expect(decisions.map(({ allowed, reason, rules: [one] }) => [allowed, reason, one?.used])).toEqual([
      [true, undefined, 1],
      [true, undefined, 2],
      [true, undefined, 3],
      [false, 'over-limit', 3],
    ]);
    expect(await valueOf('freed')).toBe(String(2 ** 51 + 3));
    expect(decisions[0]?.rules[0]?.resetMs).toBeGreaterThan(windowMs - 60_000);
    for (const decision of decisions.slice(0, 3)) expect(await bench.service.refund(decision)).toBe(1);
    expect(await valueOf('freed')).toBe(String(2 ** 51));
    expect(await bench.service.peek(rule, 's')).toMatchObject({ allowed: true, rules: [{ used: 0, resetMs: 0 }] });
  });

  it('of a window after a reset takes no refund of hits before the reset', async () => {
    const rule = plain('renewed');
    const old = await bench.service.consume(rule, 's');
    await bench.service.reset(rule, 's');
    expect(await bench.service.consume(rule, 's')).toMatchObject({ allowed: true, rules: [{ used: 1 }] });
    expect(await bench.service.refund(old)).toBe(0);
    expect(await valueOf('renewed')).toBe(String(2 ** 51 + 1));
  });

  it('is a count if it is just below the marks, or above any limit', async () => {
    const rule = plain('high');
    for (const count of [2 ** 51 - 1, 1_000_000_000]) {
      await bench.client.set(keyOf('high'), count, 'PX', 60_000);
      expect(await bench.service.consume(rule, 's')).toMatchObject({ allowed: false, reason: 'over-limit' });
      expect(await valueOf('high')).toBe(String(count));
    }
  });

  it('of a shadow rule refuses nothing', async () => {
    const rule = { ...plain('shadow'), shadow: true };
    await bench.service.block(rule, 's', 60_000);
    expect(await bench.service.consume(rule, 's')).toMatchObject({ allowed: true, rules: [{ blocked: true }] });
  });
});
