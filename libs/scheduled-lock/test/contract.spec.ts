import { once } from 'node:events';
import * as fc from 'fast-check';
import type { Cluster, Redis } from 'ioredis';
import type { ScriptRegistry } from 'luanest/script-registry';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { clusterClient, openRegistry, standaloneClient } from '../../script-registry/test/support';
import { claimRun, completeRun, readHistory, renewRun, scheduledLockScripts } from '../src/scheduled-lock.scripts';
import { size } from '../../../test/support/size';

const servers: [string, () => Redis | Cluster][] = [
  ['standalone', standaloneClient],
  ['Cluster', clusterClient],
];
const RETENTION_MS = 600_000;
const LEASE_MS = 300_000;
const KEEP = 20;

describe.each(servers)('the scripts on %s', (_, connect) => {
  let client: Redis | Cluster;
  let registry: ScriptRegistry;
  const prefix = uniquePrefix();
  let jobs = 0;

  beforeAll(async () => {
    client = connect();
    if (client.status !== 'ready') await once(client, 'ready');
    registry = await openRegistry(client, { prefix, preload: 'required' }, scheduledLockScripts);
  });
  afterAll(() => {
    registry.close();
    client.disconnect();
  });

  function newJob() {
    const tag = registry.keySpace('scheduled-lock').tag(`default:job-${jobs++}`);
    const keys = { state: tag.key('state'), history: tag.key('history') };
    const { state } = keys;
    const base = { node: 'n', periodMs: 0, staleMs: 0, leaseMs: LEASE_MS, retentionMs: RETENTION_MS, keep: KEEP };
    return {
      keys,
      claim: (owner: string, slot: number, more: Partial<typeof base & { mode: string }> = {}) =>
        registry.run(claimRun, { keys, args: { mode: 'tick', ...base, ...more, owner, slot } }),
      renew: (owner: string, leaseMs = LEASE_MS) =>
        registry.run(renewRun, { keys: { state }, args: { owner, leaseMs, retentionMs: RETENTION_MS } }),
      complete: (owner: string, status: string, slot = 0, atLeastMs = 0) => {
        const args = { owner, status, slot, atLeastMs, node: 'n', durationMs: 7, fence: 9, keep: KEEP };
        return registry.run(completeRun, { keys, args: { ...args, retentionMs: RETENTION_MS } });
      },
      history: () => registry.run(readHistory, { keys: { history: keys.history }, args: {} }),
      /** Ends the lease, as time would. */
      expire: () => client.hset(state, 'till', '1'),
      ttls: async () => [await client.pttl(state), await client.pttl(keys.history)] as const,
    };
  }

  it('a slot is run once, in order, and one at a time', async () => {
    const job = newJob();
    expect(await job.claim('a', 10)).toMatchObject({ status: 'ran', slot: 10 });
    expect(await job.claim('b', 10)).toEqual({ status: 'skipped-slot', slot: 10, fence: 0, leftMs: 0 });
    expect((await job.claim('b', 9)).status).toBe('skipped-slot');
    expect((await job.claim('b', 11)).status).toBe('skipped-held');
    expect(await job.complete('a', 'ran', 10)).toBe('released');
    expect((await job.claim('b', 10)).status).toBe('skipped-slot');
    expect((await job.claim('b', 11)).status).toBe('ran');
    const outcomes = (await job.history()).map(({ status, slot }) => `${status} ${slot}`);
    expect(outcomes).toEqual(['skipped-slot 10', 'ran 10', 'skipped-held 11', 'skipped-slot 9', 'skipped-slot 10']);
  });

  it('replays get the answers of the first call', async () => {
    const job = newJob();
    const first = await job.claim('a', 10);
    expect(await job.claim('a', 10)).toEqual(first);
    expect(await job.renew('a')).toBe(true);
    expect(await job.renew('a')).toBe(true);
    expect(await job.complete('a', 'failed', 10)).toBe('released');
    expect(await job.complete('a', 'failed', 10)).toBe('released');
    expect((await job.history()).map(({ status }) => status)).toEqual(['failed']);
    expect(await job.renew('a')).toBe(false);
  });

  it('fences rise, also when the keys are gone', async () => {
    const job = newJob();
    const fences: number[] = [];
    for (let slot = 1; slot < 5; slot++) {
      fences.push((await job.claim(`o${slot}`, slot)).fence);
      await (slot === 2 ? client.del(job.keys.state, job.keys.history) : job.complete(`o${slot}`, 'ran', slot));
    }
    expect([...new Set(fences)].sort((one, other) => one - other)).toEqual(fences);
    expect(fences.every(Number.isSafeInteger)).toBe(true);
  });

  it('the slot of an interval is the period of Redis, and a tick may wait within it', async () => {
    const job = newJob();
    // Now is the middle of a period, so none ends during the test.
    const periodMs = Math.floor((2 * Date.now()) / 9);
    const first = await job.claim('a', 0, { periodMs });
    expect(first.status).toBe('ran');
    expect(first.slot % periodMs).toBe(0);
    expect(Math.abs(first.slot + periodMs / 2 - Date.now())).toBeLessThanOrEqual(periodMs / 2 + 60_000);
    expect((await job.claim('b', 0, { periodMs })).status).toBe('skipped-slot');
    // As if it were the run of the period before.
    await client.hincrby(job.keys.state, 'slot', -periodMs);
    const waiting = await job.claim('b', 0, { periodMs });
    expect(waiting).toMatchObject({ status: 'skipped-held', slot: first.slot });
    expect(waiting.leftMs).toBeGreaterThan(0);
    expect(waiting.leftMs).toBeLessThanOrEqual(periodMs);
    expect((await job.history()).map(({ status }) => status)).toEqual(['skipped-slot']);
    // Its period is over.
    expect(await job.claim('b', first.slot - 3 * periodMs, { periodMs })).toMatchObject({ leftMs: 0 });
    expect((await job.claim('b', first.slot + periodMs, { periodMs })).status).toBe('skipped-held');
    await job.complete('a', 'ran', first.slot);
    expect(await job.claim('b', waiting.slot, { periodMs })).toMatchObject({ status: 'ran', slot: first.slot });
  });

  it('a slot that is far from the time of Redis is stale', async () => {
    const job = newJob();
    const now = Date.now();
    for (const slot of [now - 3_600_000, now + 3_600_000]) {
      expect((await job.claim('a', slot, { staleMs: 1_800_000 })).status).toBe('stale');
    }
    expect((await job.claim('a', now, { staleMs: 1_800_000 })).status).toBe('ran');
  });

  it('a claim whose run never began gives back its lock and its slot', async () => {
    const job = newJob();
    await job.claim('a', 10);
    expect(await job.complete('a', 'redis-error', 10)).toBe('released');
    expect(await job.history()).toEqual([]);
    expect((await job.claim('b', 9)).status).toBe('skipped-slot');
    expect((await job.claim('c', 0, { mode: 'catch-up', staleMs: 1 })).status).toBe('nothing');
    expect((await job.claim('b', 10)).status).toBe('ran');
    // Not that of another.
    expect(await job.complete('a', 'redis-error', 10)).toBe('lost');
    expect((await job.claim('c', 11)).status).toBe('skipped-held');
  });

  it('a catch-up whose run never began leaves its slot to the next catch-up, and to no tick', async () => {
    const job = newJob();
    const slot = Date.now();
    const catchUp = (owner: string) => job.claim(owner, 0, { mode: 'catch-up', staleMs: 600_000 });
    const died = await job.claim('a', slot);
    await job.expire();
    const unused = await catchUp('b');
    expect(unused).toMatchObject({ status: 'ran', slot });
    expect(await job.complete('b', 'redis-error', slot)).toBe('released');
    expect(await job.complete('b', 'redis-error', slot)).toBe('released');
    expect((await job.claim('c', slot)).status).toBe('skipped-slot');
    const again = await catchUp('d');
    expect(again).toMatchObject({ status: 'ran', slot });
    expect([died.fence, unused.fence, again.fence]).toEqual(
      [died.fence, unused.fence, again.fence].sort((a, b) => a - b),
    );
    // A late replay gives back nothing of another run.
    expect(await job.complete('b', 'redis-error', slot)).toBe('lost');
    expect((await catchUp('e')).status).toBe('nothing');
    expect(await job.complete('d', 'ran', slot)).toBe('released');
    expect((await catchUp('f')).status).toBe('nothing');
    expect((await job.history()).map(({ status }) => status)).toEqual(['ran', 'skipped-slot']);
  });

  it('a catch-up takes the last slot when its run died, and only then', async () => {
    const job = newJob();
    const slot = Date.now();
    const catchUp = async (owner: string, staleMs = 60_000) =>
      (await job.claim(owner, 0, { mode: 'catch-up', staleMs })).status;
    expect(await catchUp('c')).toBe('nothing');
    await job.claim('a', slot);
    expect(await catchUp('c')).toBe('nothing');
    await job.expire();
    await client.hincrby(job.keys.state, 'slot', -120_000);
    expect(await catchUp('c')).toBe('nothing');
    expect(await catchUp('c', 600_000)).toBe('ran');
    expect(await job.complete('a', 'ran', slot)).toBe('lost');
    expect(await job.complete('c', 'ran', slot)).toBe('released');
    expect(await catchUp('d', 600_000)).toBe('nothing');
    expect((await job.history()).map(({ status }) => status)).toEqual(['ran', 'lost']);
  });

  it('a run without a slot takes the lock, and leaves the slots and what is to be caught up as they are', async () => {
    const job = newJob();
    const slot = Date.now();
    const free = async (owner: string) => (await job.claim(owner, 7, { mode: 'free' })).status;
    const catchUp = async (owner: string) => (await job.claim(owner, 0, { mode: 'catch-up', staleMs: 600_000 })).status;
    expect(await job.claim('f', 7, { mode: 'free' })).toMatchObject({ status: 'ran', slot: 0 });
    expect(await job.claim('f', 7, { mode: 'free' })).toMatchObject({ status: 'ran', slot: 0 });
    expect(await free('g')).toBe('skipped-held');
    expect((await job.claim('a', slot)).status).toBe('skipped-held');
    // A run by hand that dies leaves nothing to catch up.
    await job.expire();
    expect(await catchUp('c')).toBe('nothing');
    expect((await job.claim('a', slot)).status).toBe('ran');
    expect(await job.complete('a', 'ran', slot)).toBe('released');
    expect(await free('h')).toBe('ran');
    await job.expire();
    expect(await catchUp('c')).toBe('nothing');
    expect((await job.claim('b', slot)).status).toBe('skipped-slot');
    // A slot whose run died is still there after one.
    expect((await job.claim('b', slot + 1)).status).toBe('ran');
    await job.expire();
    expect(await free('i')).toBe('ran');
    expect(await catchUp('c')).toBe('nothing');
    expect(await job.complete('i', 'ran')).toBe('released');
    expect(await job.complete('i', 'ran')).toBe('released');
    expect(await catchUp('c')).toBe('ran');
    expect(await job.complete('c', 'ran', slot + 1)).toBe('released');
    // One that was never used gives no slot back.
    expect(await free('j')).toBe('ran');
    expect(await job.complete('j', 'redis-error')).toBe('released');
    expect((await job.claim('d', slot + 1)).status).toBe('skipped-slot');
    expect((await job.claim('d', slot + 2)).status).toBe('ran');
  });

  it('a run that is lost before its lease ends leaves its slot open, and a replay adds nothing to the history', async () => {
    const job = newJob();
    const slot = Date.now();
    await job.claim('a', slot);
    expect(await job.complete('a', 'lost', slot)).toBe('released');
    expect(await job.complete('a', 'lost', slot)).toBe('released');
    expect((await job.history()).map(({ status }) => status)).toEqual(['lost']);
    expect((await job.claim('c', 0, { mode: 'catch-up', staleMs: 600_000 })).status).toBe('ran');
  });

  it('lockAtLeastForMs keeps the lock, but only from other slots', async () => {
    const job = newJob();
    await job.claim('a', 10);
    expect(await job.complete('a', 'ran', 10, 200_000)).toBe('released');
    expect((await job.claim('b', 11)).status).toBe('skipped-held');
    await job.expire();
    expect((await job.claim('b', 11)).status).toBe('ran');
  });

  it('every key has a TTL, and the history keeps its limit', async () => {
    const job = newJob();
    for (let slot = 0; slot < 2 * KEEP; slot++) {
      await job.claim('a' + String(slot), slot);
      await job.complete('a' + String(slot), 'ran', slot);
    }
    expect(await job.history()).toHaveLength(KEEP);
    for (const ttl of await job.ttls()) {
      expect(ttl).toBeGreaterThan(RETENTION_MS / 2);
      expect(ttl).toBeLessThanOrEqual(RETENTION_MS + LEASE_MS);
    }
    await client.persist(job.keys.state);
    await job.claim('z', 1_000);
    await client.persist(job.keys.history);
    await job.renew('z');
    await job.complete('z', 'ran', 1_000);
    for (const ttl of await job.ttls()) expect(ttl).toBeGreaterThan(0);
  });

  it('a key of another type is refused before anything is written', async () => {
    const job = newJob();
    await client.set(job.keys.history, 'text', 'PX', 60_000);
    await expect(job.claim('a', 10)).rejects.toThrow(/WRONGTYPE/);
    expect(await client.exists(job.keys.state)).toBe(0);
    await client.del(job.keys.history);
    await job.claim('a', 10);
    await client.del(job.keys.history);
    await client.set(job.keys.history, 'text', 'PX', 60_000);
    await expect(job.complete('a', 'ran', 10)).rejects.toThrow(/WRONGTYPE/);
    expect(await client.hget(job.keys.state, 'done')).toBe('0');
    const other = newJob();
    await client.set(other.keys.state, 'text', 'PX', 60_000);
    await expect(other.claim('a', 10)).rejects.toThrow(/WRONGTYPE/);
    await expect(other.renew('a')).rejects.toThrow(/WRONGTYPE/);
    await expect(other.complete('a', 'ran', 10)).rejects.toThrow(/WRONGTYPE/);
    expect(await client.exists(other.keys.history)).toBe(0);
  });

  it('behaves like a small model, whatever the order of the calls', async () => {
    type Step =
      | { do: 'claim'; owner: string; slot: number; mode: string }
      | { do: 'renew' | 'ran' | 'lost' | 'redis-error'; owner: string }
      | { do: 'expire' };
    const owner = fc.constantFrom('a', 'b', 'c');
    const step: fc.Arbitrary<Step> = fc.oneof(
      fc.record({
        do: fc.constant('claim' as const),
        owner,
        slot: fc.integer({ min: 1, max: 6 }),
        mode: fc.constantFrom('tick', 'tick', 'catch-up', 'free'),
      }),
      fc.record({
        do: fc.constantFrom('renew' as const, 'ran' as const, 'lost' as const, 'redis-error' as const),
        owner,
      }),
      fc.record({ do: fc.constant('expire' as const) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const job = newJob();
        const model = { slot: -1, open: false, mode: '', owner: '', held: false, done: true };
        // Tokens are never used for two runs.
        const tokens: Record<string, string> = {};
        let runs = 0;
        for (const one of steps) {
          if (one.do === 'expire') {
            if (model.owner) await job.expire();
            model.held = false;
          } else if (one.do === 'claim') {
            const token = `${one.owner}${runs++}`;
            const { mode } = one;
            let expected = 'ran';
            if (mode === 'tick' && one.slot <= model.slot) expected = 'skipped-slot';
            else if (mode === 'catch-up' && (!model.open || model.held)) expected = 'nothing';
            else if (model.held) expected = 'skipped-held';
            const staleMs = mode === 'catch-up' ? Number.MAX_SAFE_INTEGER : 0;
            expect((await job.claim(token, one.slot, { mode, staleMs })).status).toBe(expected);
            if (expected !== 'ran') continue;
            tokens[one.owner] = token;
            Object.assign(model, { owner: token, mode, held: true, done: false });
            if (mode === 'tick') Object.assign(model, { slot: one.slot, open: true });
          } else {
            const token = tokens[one.owner] ?? 'none';
            const mine = model.owner === token;
            const held = mine && model.held;
            if (one.do === 'renew') {
              expect(await job.renew(token)).toBe(held);
              continue;
            }
            expect(await job.complete(token, one.do)).toBe(held || (mine && model.done) ? 'released' : 'lost');
            if (!held) continue;
            model.held = false;
            model.done = true;
            // A catch-up that never ran leaves its slot open, and a run without a slot changes no slot.
            if (one.do === 'redis-error' && model.mode === 'tick')
              Object.assign(model, { slot: model.slot - 1, open: false });
            if (one.do === 'ran' && model.mode !== 'free') model.open = false;
          }
        }
      }),
      { numRuns: size(20, 200) },
    );
  });
});
