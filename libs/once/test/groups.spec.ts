import { standaloneClient } from '../../script-registry/test/support';
import { claimed, openBench, type Bench } from './support';

describe('concurrent claims, which are sent in one group', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(standaloneClient());
  });
  afterAll(() => bench.close());

  it('get their own terms, fence and end of the lease', async () => {
    const base = { leaseMs: 60_000, retentionMs: 90_000, delivery: 'at-least-once', token: 'a' } as const;
    const other = [
      { leaseMs: 61_000 },
      { retentionMs: 10_000 },
      { retentionMs: 200_000 },
      { delivery: 'at-most-once' as const },
      { token: 'longer' },
    ];
    const terms = other.flatMap((term) => [base, { ...base, ...term }]);
    const before = await bench.raw.time();
    const claims = await Promise.all(terms.map((term, i) => bench.once.claim(`id-${i}`, term)));
    const after = await bench.raw.time();
    const [fromMs, toMs] = [before, after].map(([s, us]) => Math.floor(Number(s) * 1_000 + Number(us) / 1_000));
    for (const [i, { leaseMs, retentionMs, delivery, token }] of terms.entries()) {
      const { fence, leaseEndsAtMs } = claimed(claims[i] as (typeof claims)[number]);
      expect(leaseEndsAtMs).toBeGreaterThanOrEqual((fromMs as number) + leaseMs);
      expect(leaseEndsAtMs).toBeLessThanOrEqual((toMs as number) + leaseMs);
      expect(await bench.stored(`id-${i}`)).toEqual({
        state: 'c',
        delivery: delivery === 'at-most-once' ? 'm' : 'l',
        fence: String(fence).padStart(16, '0'),
        until: String(leaseEndsAtMs),
        token,
        renewal: '',
        result: '',
      });
      const ttlMs = await bench.raw.pttl(bench.keyOf(`id-${i}`));
      expect(ttlMs).toBeLessThanOrEqual(Math.max(leaseMs, retentionMs));
      expect(ttlMs).toBeGreaterThan(Math.max(leaseMs, retentionMs) - 9_000);
    }
  });

  it('replace released claims, each with a fence that is higher than before', async () => {
    const ids = ['first', 'second', 'third'];
    const terms = { leaseMs: 60_000, retentionMs: 90_000 };
    const earlier = await Promise.all(ids.map(async (id) => claimed(await bench.once.claim(id, terms))));
    await Promise.all([earlier[0]?.release(), earlier[2]?.release()]);
    const later = await Promise.all(ids.map((id) => bench.once.claim(id, terms)));
    expect(later.map(({ status }) => status)).toEqual(['claimed', 'in-progress', 'claimed']);
    for (const i of [0, 2])
      expect(claimed(later[i] as (typeof later)[number]).fence).toBeGreaterThan(earlier[i]?.fence ?? Infinity);
  });
});
