import type { OnceService } from 'luanest/once';
import { claimed, openBench, servers, type Bench } from './support';

const terms = { leaseMs: 60_000, retentionMs: 120_000 };

describe.each(servers)('peek on %s', (_name, client) => {
  let bench: Bench;
  let once: OnceService;
  let counter = 0;
  let id: string;
  beforeAll(async () => {
    bench = await openBench(client());
    ({ once } = bench);
  });
  beforeEach(() => {
    counter += 1;
    id = `message {${counter}}`;
  });
  afterAll(() => bench.close());

  const clockMs = async (): Promise<number> => {
    const [seconds, micros] = (await bench.raw.eval("return redis.call('TIME')", 1, bench.keyOf(id))) as [
      string,
      string,
    ];
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  };

  it('returns unknown for an id that was never claimed, or was released', async () => {
    expect(await once.peek(id)).toEqual({ status: 'unknown' });
    await claimed(await once.claim(id, terms)).release();
    expect(await once.peek(id)).toEqual({ status: 'unknown' });
  });

  it('reports a claim in progress with its start and the end of its lease, and does not extend the lease', async () => {
    const before = await clockMs();
    const { fence, leaseEndsAtMs } = claimed(await once.claim(id, terms));
    const stored = [await bench.stored(id), await bench.raw.pexpiretime(bench.keyOf(id))];
    const seen = await once.peek(id);
    expect(seen).toEqual({ status: 'in-progress', fence, startedAtMs: Math.floor(fence / 1_000), leaseEndsAtMs });
    if (seen.status === 'in-progress') {
      expect(seen.startedAtMs).toBeGreaterThanOrEqual(before);
      expect(seen.startedAtMs).toBeLessThanOrEqual(await clockMs());
    }
    expect([await bench.stored(id), await bench.raw.pexpiretime(bench.keyOf(id))]).toEqual(stored);
  });

  it.each([
    ['nothing', undefined],
    ['a text', 'sent: 発信'],
    ['data', { to: ['a', 1, null] }],
  ])('returns what was confirmed, and until when that is known: %s', async (_what, result) => {
    const token = 'tokén';
    await claimed(await once.claim(id, { ...terms, token })).renew();
    await once.confirm(id, token, result);
    const expiresAtMs = await bench.raw.pexpiretime(bench.keyOf(id));
    expect(await once.peek(id)).toEqual({ status: 'done', result, confirmed: true, expiresAtMs });
    await bench.raw.persist(bench.keyOf(id));
    expect(await once.peek(id)).toEqual({ status: 'done', result, confirmed: true, expiresAtMs: undefined });
    expect(await bench.raw.pttl(bench.keyOf(id))).toBe(-1);
  });

  it('reports what the next claim would: after the lease the id is free, unless the delivery is at-most-once', async () => {
    claimed(await once.claim(id, terms));
    await bench.expire(id);
    expect(await once.peek(id)).toEqual({ status: 'unknown' });
    const risky = `${id}!`;
    claimed(await once.claim(risky, { ...terms, delivery: 'at-most-once' }));
    await bench.expire(risky);
    const expiresAtMs = await bench.raw.pexpiretime(bench.keyOf(risky));
    expect(await once.peek(risky)).toEqual({ status: 'done', result: undefined, confirmed: false, expiresAtMs });
  });

  it('finds messages of handlers by scope and id, and not by an id of run', async () => {
    await once.run({ scope: 'Orders.paid', id }, terms, () => 'handled');
    expect(await once.peek({ scope: 'Orders.paid', id })).toMatchObject({ status: 'done', result: 'handled' });
    expect(await once.peek({ scope: 'Orders.other', id })).toEqual({ status: 'unknown' });
    expect(await once.peek(id)).toEqual({ status: 'unknown' });
  });

  it.each([
    undefined,
    null,
    '',
    {},
    { scope: 'a' },
    { subject: 'ann' },
    { subject: '', key: 'k' },
    { subject: 'ann', key: 'two, keys' },
    { subject: 1.5, key: 'k' },
  ])('refuses %j', async (target) => {
    await expect(once.peek(target as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });

  it('refuses a key whose value is not a claim', async () => {
    await bench.raw.set(bench.keyOf(id), 'x'.repeat(99));
    await expect(once.peek(id)).rejects.toMatchObject({ code: 'SCRIPT_FAILED' });
  });
});
