import { Logger } from '@nestjs/common';
import { InvalidRedPacketInputError, type PayoutRow } from 'luanest/red-packet';
import { eventually } from '../../../test/support/wait';
import { beginActivity, fillPool } from '../src/red-packet.scripts';
import { beginArgs, byUser, figures, openBench, readGrants, RETENTION_MS, servers, type Bench } from './support';

const users = ['a', 'b', 'c', 'd', 'e'];
const entryIds = (rows: readonly PayoutRow[]): string[] => rows.map(({ entryId }) => entryId);

describe.each(servers)('payouts on %s', (_name, connect) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(connect());
  });
  afterAll(() => bench.close());

  async function grabbed(activityId: string): Promise<void> {
    await bench.packets.create(figures(activityId, 10));
    for (const user of users) await bench.packets.grab(activityId, user);
  }

  it('hands each row to one worker, in the order of the grabs, as the grants say', async () => {
    await grabbed('rows');
    const first = await bench.packets.claimPayouts('rows', { worker: 'one', count: 3 });
    const second = await bench.packets.claimPayouts('rows', { worker: 'two', count: 3 });
    expect(await bench.packets.claimPayouts('rows', { worker: 'one' })).toEqual([]);
    const rows = [...first, ...second];
    expect(first).toHaveLength(3);
    expect(rows.map(({ userId }) => userId)).toEqual(users);
    expect(byUser(rows)).toEqual(byUser(await readGrants(bench, bench.keysOf('rows'))));
    expect(rows[0]).toMatchObject({ activityId: 'rows', entryId: expect.stringMatching(/^\d+-\d+$/) });
  });

  it('hands the rows of a worker that went silent to another, before new ones, and no earlier than its lease', async () => {
    await grabbed('lease');
    const lost = await bench.packets.claimPayouts('lease', { worker: 'dead' });
    expect(await bench.packets.claimPayouts('lease', { worker: 'heir', leaseMs: 60_000 })).toEqual([]);
    await bench.packets.grab('lease', 'f');
    const taken: PayoutRow[] = [];
    await eventually(async () => {
      taken.push(...(await bench.packets.claimPayouts('lease', { worker: 'heir', leaseMs: 50 })));
      expect(new Set(entryIds(taken)).size).toBe(6);
    });
    const inherited = taken.filter(({ userId }) => userId !== 'f').slice(0, 5);
    expect(inherited).toEqual(lost);
    expect(await bench.packets.settlePayouts('lease', entryIds(taken))).toBe(6);
  });

  it('settles a row once, however often it is asked, and leaves nothing pending', async () => {
    await grabbed('settled');
    const rows = await bench.packets.claimPayouts('settled', { worker: 'w' });
    expect(await bench.packets.settlePayouts('settled', entryIds(rows.slice(0, 2)))).toBe(2);
    expect(await bench.packets.status('settled')).toMatchObject({ outboxLength: 3, grantedPackets: 5 });
    expect(await bench.packets.settlePayouts('settled', entryIds(rows))).toBe(3);
    expect(await bench.packets.settlePayouts('settled', entryIds(rows))).toBe(0);
    expect(await bench.packets.settlePayouts('settled', [])).toBe(0);
    const { outbox } = bench.keysOf('settled');
    expect(await bench.raw.xlen(outbox)).toBe(0);
    expect((await bench.raw.xpending(outbox, 'payouts'))[0]).toBe(0);
    expect(await bench.packets.claimPayouts('settled', { worker: 'w', leaseMs: 1 })).toEqual([]);
    // A grab after all is settled is paid as well.
    await bench.packets.grab('settled', 'late');
    expect(await bench.packets.claimPayouts('settled', { worker: 'w' })).toMatchObject([{ userId: 'late' }]);
  });

  it('does not settle a row that nobody has claimed, since it is still to be paid', async () => {
    await grabbed('unclaimed');
    const entries = await bench.raw.xrange(bench.keysOf('unclaimed').outbox, '-', '+');
    const ids = entries.map(([id]) => id);
    expect(await bench.packets.settlePayouts('unclaimed', ids)).toBe(0);
    const rows = await bench.packets.claimPayouts('unclaimed', { worker: 'w' });
    expect(rows.map(({ userId }) => userId)).toEqual(users);
  });

  it('passes by entries that no grab wrote, and keeps their neighbours whole', async () => {
    await grabbed('foreign');
    const { outbox } = bench.keysOf('foreign');
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    await bench.raw.xadd(outbox, '*', 'note', 'x');
    await bench.raw.xadd(outbox, '*', 'cents', '500', 'user', 'evil', 'at', '1');
    await bench.raw.xadd(outbox, '*', 'user', 'evil', 'packet', '1', 'cents', '-5', 'at', '1', 'more', 'y');
    await bench.packets.grab('foreign', 'last');
    const rows = await bench.packets.claimPayouts('foreign', { worker: 'w' });
    expect(byUser(rows)).toEqual(byUser(await readGrants(bench, bench.keysOf('foreign'))));
    expect(rows.at(-1)).toMatchObject({ userId: 'last' });
    expect(warn).toHaveBeenCalledWith(expect.stringMatching(/^3 entries in the outbox of "foreign"/));
    warn.mockRestore();
  });

  it('settles more rows than one script takes', async () => {
    await grabbed('lots');
    const rows = await bench.packets.claimPayouts('lots', { worker: 'w' });
    const unknown = Array.from({ length: 2_100 }, (_, i) => `1-${i}`);
    const asked = [...unknown.slice(0, 1_050), ...entryIds(rows), ...unknown.slice(1_050)];
    expect(await bench.packets.settlePayouts('lots', asked)).toBe(5);
  });

  it('heals a consumer group that was destroyed: what is not settled is handed out again', async () => {
    await grabbed('healed');
    const { outbox } = bench.keysOf('healed');
    const rows = await bench.packets.claimPayouts('healed', { worker: 'w' });
    await bench.packets.settlePayouts('healed', entryIds(rows.slice(0, 2)));
    expect(await bench.raw.xgroup('DESTROY', outbox, 'payouts')).toBe(1);
    expect(await bench.packets.claimPayouts('healed', { worker: 'w' })).toEqual(rows.slice(2));
  });

  it('finds nothing where there is no activity, and makes no key', async () => {
    expect(await bench.packets.claimPayouts('none', { worker: 'w' })).toEqual([]);
    expect(await bench.packets.settlePayouts('none', ['1-1'])).toBe(0);
    expect(await bench.raw.exists(...Object.values(bench.keysOf('none')))).toBe(0);
  });

  it.each([
    ['worker', { worker: '' }],
    ['worker', { worker: '\ud800' }],
    ['count', { worker: 'w', count: 0 }],
    ['count', { worker: 'w', count: 501 }],
    ['leaseMs', { worker: 'w', leaseMs: 0 }],
    ['leaseMs', { worker: 'w', leaseMs: 2 ** 31 }],
  ])('refuses a claim whose %s is none: %j', async (field, options) => {
    const claiming = bench.packets.claimPayouts('rows', options);
    await expect(claiming).rejects.toThrow(InvalidRedPacketInputError);
    await expect(claiming).rejects.toThrow(new RegExp(`^${field} is `));
  });

  it('refuses to settle what is no entry, the good ones beside it too', async () => {
    await grabbed('unsettled');
    const [row] = await bench.packets.claimPayouts('unsettled', { worker: 'w' });
    for (const id of ['', '*', '1', '-', '1-x', '0-0 1-1', 5 as never]) {
      const settling = bench.packets.settlePayouts('unsettled', [row?.entryId ?? '', id]);
      await expect(settling).rejects.toThrow(InvalidRedPacketInputError);
    }
    expect(await bench.raw.xlen(bench.keysOf('unsettled').outbox)).toBe(5);
  });
});

describe.each(servers)('the TTLs of an activity on %s', (_name, connect) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(connect());
  });
  afterAll(() => bench.close());

  it('end every key at the same moment at every stage, and are given back where they were lost', async () => {
    const { packets, raw } = bench;
    const keys = bench.keysOf('ttl');
    const ends = async (): Promise<Record<string, number>> => {
      const found: Record<string, number> = {};
      for (const [name, key] of Object.entries(keys)) {
        if (await raw.exists(key)) found[name] = await raw.pexpiretime(key);
      }
      return found;
    };
    const plan = figures('ttl', 3);
    const { meta, pool } = keys;
    const seed = 'f'.repeat(32);
    await bench.registry.run(beginActivity, { keys, args: beginArgs(plan, seed) });
    const end = (await packets.status('ttl'))?.expiresAtMs ?? 0;
    expect(await ends()).toEqual({ meta: end });
    await bench.registry.run(fillPool, { keys: { meta, pool }, args: { offset: 0, chunk: ['1:100:100'] } });
    expect(await ends()).toEqual({ meta: end, pool: end });
    await raw.del(pool); // the rest is split by the seed, so the chunk above must not count
    await raw.hset(meta, 'filledCents', 0);

    await packets.create({ activityId: 'ttl', totalCents: 300, packets: 3 });
    const all = { meta: end, pool: end, grants: end, outbox: end };
    const soldOut = { meta: end, grants: end, outbox: end };
    expect(await ends()).toEqual(all);
    await packets.grab('ttl', 'a');
    expect(await ends()).toEqual(all);
    for (const key of Object.values(keys)) expect(await raw.persist(key)).toBe(1);
    await packets.status('ttl');
    expect(await ends()).toEqual(all);
    await Promise.all(['b', 'c', 'd'].map((user) => packets.grab('ttl', user)));
    expect(await ends()).toEqual(soldOut);
    await packets.settlePayouts('ttl', entryIds(await packets.claimPayouts('ttl', { worker: 'w', count: 2 })));
    expect(await ends()).toEqual(soldOut);
    await raw.xgroup('DESTROY', keys.outbox, 'payouts');
    await packets.settlePayouts('ttl', entryIds(await packets.claimPayouts('ttl', { worker: 'w' })));
    expect(await ends()).toEqual(soldOut);
    await packets.records('ttl');
    for (const key of [keys.meta, keys.grants, keys.outbox]) expect(await raw.persist(key)).toBe(1);
    await packets.create({ activityId: 'ttl', totalCents: 300, packets: 3 });
    expect(await ends()).toEqual(soldOut);
    expect(await raw.pexpiretime(bench.indexKey)).toBeGreaterThanOrEqual(end);
    expect(await raw.pexpiretime(bench.indexKey)).toBeLessThan(end + 2 * RETENTION_MS);
  });
});
