import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { OnceEvents, type OnceRun } from 'luanest/once';
import { eventually } from '../../../test/support/wait';
import { claimed, openBench, servers, type Bench } from './support';

const terms = { leaseMs: 60_000, retentionMs: 120_000 };

describe.each(servers)('once on %s', (_name, client) => {
  let bench: Bench;
  let counter = 0;
  let id: string;
  beforeAll(async () => {
    bench = await openBench(client(), {}, { maxResultBytes: 100 });
  });
  beforeEach(() => {
    counter += 1;
    id = `message {${counter}}`;
  });
  afterAll(() => bench.close());

  async function dump(): Promise<unknown> {
    return bench.raw.get(bench.keyOf(id));
  }

  it('gives an id to one caller, reports retryAfterMs to others, and remembers the result', async () => {
    const { once } = bench;
    const mine = claimed(await once.claim(id, terms));
    const other = await once.claim(id, terms);
    expect(other).toEqual({ status: 'in-progress', retryAfterMs: expect.any(Number) });
    if (other.status === 'in-progress') {
      expect(other.retryAfterMs).toBeGreaterThan(0);
      expect(other.retryAfterMs).toBeLessThanOrEqual(60_000);
    }
    expect(await mine.confirm({ pushed: ['a', 1, null] })).toEqual({ status: 'confirmed' });
    const done = { status: 'done', result: { pushed: ['a', 1, null] }, confirmed: true };
    expect(await once.claim(id, terms)).toEqual(done);
    expect(await once.claim(id, { ...terms, token: mine.token })).toEqual(done);
    const ttlMs = await bench.raw.pttl(bench.keyOf(id));
    expect(ttlMs).toBeGreaterThan(60_000);
    expect(ttlMs).toBeLessThanOrEqual(120_000);
  });

  it('returns the same answer to the same token', async () => {
    const token = 'a token of the caller';
    const first = claimed(await bench.once.claim(id, { ...terms, token }));
    const again = claimed(await bench.once.claim(id, { ...terms, token }));
    expect([again.token, again.fence, again.leaseEndsAtMs]).toEqual([token, first.fence, first.leaseEndsAtMs]);
  });

  it.each(['released', 'expired', 'forgotten'])(
    'lets another claim an id that was %s, with a higher fence',
    async (how) => {
      const first = claimed(await bench.once.claim(id, terms));
      if (how === 'released') expect(await first.release()).toEqual({ status: 'released' });
      if (how === 'expired') await bench.expire(id);
      if (how === 'forgotten') await bench.raw.del(bench.keyOf(id));
      const second = claimed(await bench.once.claim(id, terms));
      expect(second.fence).toBeGreaterThan(first.fence);
      const before = await dump();
      expect(await first.renew()).toEqual({ status: 'lost' });
      expect(await first.confirm('stale')).toEqual({ status: 'lost' });
      expect(await bench.once.confirm(id, first.token, 'stale')).toEqual({ status: 'lost' });
      if (how !== 'released') expect(await first.release()).toEqual({ status: 'lost' });
      expect(await dump()).toEqual(before);
    },
  );

  it('renews a lease, and keeps the key for as long', async () => {
    const claim = claimed(await bench.once.claim(id, { leaseMs: 60_000, retentionMs: 60_000 }));
    const renewed = await claim.renew({ leaseMs: 600_000 });
    expect(renewed).toEqual({ status: 'renewed', leaseEndsAtMs: expect.any(Number) });
    if (renewed.status === 'renewed') expect(renewed.leaseEndsAtMs).toBeGreaterThan(claim.leaseEndsAtMs + 500_000);
    expect(await bench.raw.pttl(bench.keyOf(id))).toBeGreaterThan(500_000);
  });

  it("ends a lease by Redis' clock", async () => {
    const claim = claimed(await bench.once.claim(id, { leaseMs: 30, retentionMs: 60_000 }));
    await eventually(async () => expect((await bench.once.claim(id, terms)).status).toBe('claimed'));
    expect(await claim.confirm()).toEqual({ status: 'lost' });
  });

  it('sets the TTL of a key again that has lost it', async () => {
    const claim = claimed(await bench.once.claim(id, terms));
    await bench.raw.persist(bench.keyOf(id));
    await bench.once.claim(id, terms);
    expect(await bench.raw.pttl(bench.keyOf(id))).toBeGreaterThan(0);
    await bench.raw.persist(bench.keyOf(id));
    await claim.renew();
    expect(await bench.raw.pttl(bench.keyOf(id))).toBeGreaterThan(0);
    await bench.raw.persist(bench.keyOf(id));
    await claim.release();
    expect(await bench.raw.pttl(bench.keyOf(id))).toBeGreaterThan(0);
  });

  it('first() returns true to one of many callers, and again to the same token', async () => {
    const answers = await Promise.all(Array.from({ length: 100 }, () => bench.once.first(id, { retentionMs: 60_000 })));
    expect(answers.filter(Boolean)).toHaveLength(1);
    expect(await bench.raw.pttl(bench.keyOf(id, 'first'))).toBeGreaterThan(0);
    const replayable = { retentionMs: 60_000, token: 't' };
    expect(await bench.once.first(`${id} again`, replayable)).toBe(true);
    expect(await bench.once.first(`${id} again`, replayable)).toBe(true);
    expect(await bench.once.first(`${id} again`, { ...replayable, token: 'u' })).toBe(false);
  });

  const badDurations = [20.5, 0, -1, Number.NaN, 2 ** 53, Number.POSITIVE_INFINITY, '20' as unknown as number];
  it.each(badDurations)('refuses %p as a TTL before anything is written', async (bad) => {
    const { once } = bench;
    const refused = { code: 'INVALID_INPUT' };
    await expect(once.claim(id, { ...terms, leaseMs: bad })).rejects.toMatchObject(refused);
    await expect(once.claim(id, { ...terms, retentionMs: bad })).rejects.toMatchObject(refused);
    await expect(once.first(id, { retentionMs: bad })).rejects.toMatchObject(refused);
    await expect(once.run(id, { ...terms, leaseMs: bad }, () => 1)).rejects.toMatchObject(refused);
    expect(await bench.raw.exists(bench.keyOf(id))).toBe(0);
    expect(await bench.raw.exists(bench.keyOf(id, 'first'))).toBe(0);
    const claim = claimed(await once.claim(id, terms));
    const before = await dump();
    await expect(claim.renew({ leaseMs: bad })).rejects.toMatchObject(refused);
    expect(await dump()).toEqual(before);
  });

  it('refuses a result that is too large or not JSON before anything is written', async () => {
    const claim = claimed(await bench.once.claim(id, terms));
    const before = await dump();
    await expect(claim.confirm('x'.repeat(99))).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringMatching(
        /^OnceModule: The result was not stored, .* has 101 bytes .* At most 100 bytes/,
      ) as string,
    });
    await expect(claim.confirm(1n)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await expect(claim.confirm(() => 1)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    expect(await dump()).toEqual(before);
    expect(await claim.confirm('x'.repeat(98))).toEqual({ status: 'confirmed' });
  });

  it.each(['claim', 'first'] as const)('changes nothing if the %s key has another type', async (name) => {
    await bench.raw.rpush(bench.keyOf(id, name), 'x');
    const call = name === 'first' ? bench.once.first(id, terms) : bench.once.claim(id, terms);
    await expect(call).rejects.toMatchObject({ code: 'SCRIPT_FAILED', redisCode: 'WRONGTYPE' });
    expect(await bench.raw.lrange(bench.keyOf(id, name), 0, -1)).toEqual(['x']);
    await bench.raw.del(bench.keyOf(id, name));
  });

  it('changes nothing if the value of the key is not a claim', async () => {
    await bench.raw.set(bench.keyOf(id), 'something else');
    const refused = { code: 'SCRIPT_FAILED', redisCode: 'BADCLAIM' };
    await expect(bench.once.claim(id, terms)).rejects.toMatchObject(refused);
    await expect(bench.once.renew(id, 't')).rejects.toMatchObject(refused);
    await expect(bench.once.confirm(id, 't')).rejects.toMatchObject(refused);
    await expect(bench.once.release(id, 't')).rejects.toMatchObject(refused);
    expect(await dump()).toBe('something else');
    await bench.raw.del(bench.keyOf(id));
  });

  it('distinguishes tokens and results of any text', async () => {
    const token = 'ü 12:34 😀 %s 5:';
    const claim = claimed(await bench.once.claim(id, { ...terms, token }));
    expect(await claim.renew()).toMatchObject({ status: 'renewed' });
    expect(await claim.release()).toEqual({ status: 'released' });
    const second = claimed(await bench.once.claim(id, { ...terms, token: `${token} 2` }));
    expect(await claim.release()).toEqual({ status: 'released' });
    expect(await second.renew()).toMatchObject({ status: 'renewed' });
    expect(await second.confirm('😀\n:ü')).toEqual({ status: 'confirmed' });
    expect(await bench.once.claim(id, terms)).toEqual({ status: 'done', result: '😀\n:ü', confirmed: true });
  });

  describe('run', () => {
    it('runs one of many calls, and returns its result to the others', async () => {
      let runs = 0;
      const work = (): string => `run ${(runs += 1)}`;
      const all = await Promise.all(Array.from({ length: 20 }, () => bench.once.run(id, terms, work)));
      expect(all.filter(({ status }) => status === 'ran')).toEqual([
        { status: 'ran', result: 'run 1', confirmed: true },
      ]);
      expect(await bench.once.run(id, terms, work)).toEqual({ status: 'duplicate', result: 'run 1', confirmed: true });
      expect(runs).toBe(1);
    });

    it('renews while the work runs', async () => {
      let open = (): void => undefined;
      const gate = new Promise<void>((resolve) => (open = resolve));
      // Long enough to outlast a machine that stands still between two renewals.
      const running = bench.once.run(id, { leaseMs: 3_000, retentionMs: 60_000 }, () => gate);
      await eventually(async () => expect((await bench.stored(id))?.renewal).toMatch(/./));
      const seen = (await bench.stored(id))?.renewal;
      await eventually(async () => expect((await bench.stored(id))?.renewal).not.toBe(seen));
      open();
      expect(await running).toMatchObject({ status: 'ran', confirmed: true });
    });

    it('fires the signal when the lease is lost, and reports that nothing was confirmed', async () => {
      const answer = await bench.once.run(id, { leaseMs: 300, retentionMs: 60_000 }, async ({ signal }: OnceRun) => {
        await bench.expire(id);
        await eventually(() => expect(signal.aborted).toBe(true));
      });
      expect(answer).toMatchObject({ status: 'ran', confirmed: false });
      expect((await bench.stored(id))?.state).toBe('c');
    });

    it('releases the id when the work throws, unless the delivery is at-most-once', async () => {
      const fail = (): never => {
        throw new Error('no push');
      };
      await expect(bench.once.run(id, terms, fail)).rejects.toThrow('no push');
      expect(await bench.once.run(id, terms, () => 'pushed')).toMatchObject({ status: 'ran' });
      const risky = { ...terms, delivery: 'at-most-once' } as const;
      await expect(bench.once.run(`${id}!`, risky, fail)).rejects.toThrow('no push');
      expect(await bench.once.run(`${id}!`, risky, () => 'pushed')).toMatchObject({ status: 'duplicate' });
    });

    it('with at-most-once, no other caller gets the id of an owner that has died', async () => {
      claimed(await bench.once.claim(id, { ...terms, delivery: 'at-most-once' }));
      await bench.expire(id);
      expect(await bench.once.claim(id, terms)).toEqual({ status: 'done', result: undefined, confirmed: false });
      expect(await bench.once.run(id, terms, () => 1)).toEqual({
        status: 'duplicate',
        result: undefined,
        confirmed: false,
      });
    });

    it('confirms an id without a result that is too large, and publishes an event', async () => {
      const seen: unknown[] = [];
      const listen = (event: unknown): void => void seen.push(event);
      subscribe(OnceEvents.resultDropped, listen);
      const large = 'x'.repeat(200);
      expect(await bench.once.run(id, terms, () => large)).toEqual({ status: 'ran', result: large, confirmed: true });
      unsubscribe(OnceEvents.resultDropped, listen);
      expect(seen).toEqual([{ reason: 'too-large' }]);
      expect(await bench.once.run(id, terms, () => large)).toEqual({
        status: 'duplicate',
        result: undefined,
        confirmed: true,
      });
    });

    it('is waited for by a shutdown', async () => {
      let open = (): void => undefined;
      let closed = false;
      const gate = new Promise<void>((resolve) => (open = resolve));
      const running = bench.once.run(id, terms, () => gate);
      const closing = bench.once.beforeApplicationShutdown().then(() => (closed = true));
      await eventually(async () => expect(await bench.raw.exists(bench.keyOf(id))).toBe(1));
      expect(closed).toBe(false);
      open();
      await Promise.all([running, closing]);
      expect((await bench.stored(id))?.state).toBe('d');
    });
  });
});
