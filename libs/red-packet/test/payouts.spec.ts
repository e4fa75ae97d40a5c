import { ConsoleLogger, Logger } from '@nestjs/common';
import { InvalidOptionError, InvalidInputError } from 'luanest/script-registry';
import { deadLetter, retryLater } from 'luanest/stream-consumer';
import { RedPacketPayouts, RedPacketService, type Payout } from 'luanest/red-packet';
import { eventually } from '../../../test/support/wait';
import { keysOf } from '../../read-reward/test/support';
import { beginActivity, fillPool } from '../src/activity/activity.scripts';
import { resolveOptions } from '../src/red-packet.options';
import {
  beginArgs,
  byUser,
  figures,
  openBench,
  payAll,
  QUICK,
  readGrants,
  RETENTION_MS,
  servers,
  settleRows,
  takeRows,
  type Bench,
} from './support';

/** These tests make attempts fail on purpose, so their logs are off. */
Logger.overrideLogger(new ConsoleLogger({ logLevels: [] }));

const users = ['a', 'b', 'c', 'd', 'e'];

describe.each(servers)('payouts on %s', (_name, connect) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(connect());
  });
  afterAll(() => bench.close());

  async function grabbed(activityId: string, buckets = 1): Promise<void> {
    await bench.packets.create({ ...figures(activityId, 10), buckets });
    for (const user of users) await bench.packets.grab(activityId, user);
  }

  const stats = (activityId: string) => bench.payouts.stats(activityId);
  const settled = (activityId: string): Promise<void> =>
    eventually(async () => expect(await stats(activityId)).toMatchObject({ open: 0, pending: 0 }));

  it.each([1, 4])('calls the handler with each grant and its own idempotency key (%i buckets)', async (buckets) => {
    const id = `rows: %{é}\n${buckets}`;
    await grabbed(id, buckets);
    const paid = await payAll(bench, id);
    expect(paid.map(({ userId }) => userId).sort()).toEqual(users);
    for (const { userId, packetId, amountCents, grantedAtMs, activityKey, idempotencyKey, attempt, signal } of paid) {
      expect(await bench.packets.packetOf(id, userId)).toEqual({ packetId, amountCents, grantedAtMs });
      const { expiresAtMs = 0, activityKey: ofStatus } = (await bench.packets.status(id)) ?? {};
      expect(ofStatus).toBe(activityKey);
      expect(activityKey).toBe(`rows%3A%20%25%7B%C3%A9%7D%0A${buckets}@${expiresAtMs}`);
      expect(idempotencyKey).toBe(`${activityKey}:${packetId}`);
      expect([attempt, signal.aborted]).toEqual([1, false]);
    }
    expect(await stats(id)).toMatchObject({ open: 0, pending: 0, oldestMs: undefined, deadLetters: 0 });
  });

  it('finds activities that come up later, and hands out rows that come when all were settled', async () => {
    const paid: string[] = [];
    const read = new Set<string>();
    const run = bench.payouts.run((payout) => {
      for (const activityId of run.activities) read.add(activityId);
      paid.push(`${payout.activityId} ${payout.userId}`);
    }, QUICK);
    await grabbed('early');
    await grabbed('late', 3);
    await settled('early');
    await settled('late');
    await bench.packets.grab('early', 'f');
    await eventually(() => expect(paid).toContain('early f'));
    expect(paid.filter((one) => one.startsWith('early') || one.startsWith('late')).sort()).toEqual(
      [...users, 'f'].map((user) => `early ${user}`).concat(users.map((user) => `late ${user}`)),
    );
    expect([...read]).toEqual(expect.arrayContaining(['early', 'late']));
    await run.stop();
    await run.stop();
    expect(run.activities).toEqual([]);
  });

  it('does not poll an open activity in which nothing is won, and pays the next winner', async () => {
    const paid: string[] = [];
    const run = bench.payouts.run(({ activityId, userId }) => void paid.push(`${activityId} ${userId}`), QUICK);
    await grabbed('idle', 2);
    await settled('idle');
    await eventually(() => expect(run.activities).not.toContain('idle'));
    await eventually(async () => expect(await stats('idle')).toMatchObject({ open: 0, consumers: 0 }));
    expect(await bench.packets.status('idle')).toMatchObject({ state: 'open' });
    await bench.packets.grab('idle', 'next');
    await eventually(() => expect(paid).toContain('idle next'));
    await run.stop();
  });

  it('leaves a closed and paid activity alone, and pays a dead letter of it that is replayed', async () => {
    await grabbed('closed');
    let fails = true;
    const paid: Payout[] = [];
    const run = bench.payouts.run(
      (payout) => {
        if (fails && payout.userId === 'c') return deadLetter('no such account');
        if (payout.activityId === 'closed') paid.push(payout);
        return undefined;
      },
      { ...QUICK, discoverMs: 10 },
    );
    await settled('closed');
    await bench.packets.close('closed');
    await eventually(() => expect(run.activities).not.toContain('closed'));
    const { items } = await bench.payouts.deadLetters('closed');
    expect(items).toMatchObject([{ payout: { userId: 'c' }, error: 'no such account', attempts: 1 }]);
    const report = await bench.packets.audit('closed', { deep: true, ledger: paid });
    expect(report).toMatchObject({ ok: true, deep: { quiet: true, deadLetters: 1, paid: { packets: 4 } } });
    // Without StreamConsumerModule, the payouts that were not found may be dead letters.
    const alone = new RedPacketService(bench.registry, resolveOptions({ identity: () => undefined }));
    expect(await alone.audit('closed', { ledger: paid })).toMatchObject({ problems: [], deep: { deadLetters: 0 } });
    fails = false;
    expect(
      await bench.payouts.replay(
        'closed',
        items.map(({ id }) => id),
      ),
    ).toBe(1);
    await eventually(() => expect(paid.map(({ userId }) => userId).sort()).toEqual(users));
    await settled('closed');
    expect(await stats('closed')).toMatchObject({ deadLetters: 0 });
    await run.stop();
  });

  it('retries failed payouts, pays the others meanwhile, and dead-letters in the end', async () => {
    await grabbed('tries');
    const attempts: Record<string, number[]> = {};
    const run = bench.payouts.run(
      (payout) => {
        if (payout.activityId !== 'tries') return undefined;
        (attempts[payout.userId] ??= []).push(payout.attempt);
        if (payout.userId === 'a' && payout.attempt === 1) throw new Error('the ledger is unavailable');
        if (payout.userId === 'b' && payout.attempt === 1) return retryLater({ delayMs: 20 });
        if (payout.userId === 'c') return Promise.reject(new Error('never'));
        return undefined;
      },
      { ...QUICK, attempts: 3 },
    );
    await eventually(async () => expect(await stats('tries')).toMatchObject({ open: 0, deadLetters: 1 }));
    expect(attempts).toEqual({ a: [1, 2], b: [1, 2], c: [1, 2, 3], d: [1], e: [1] });
    await run.stop();
    expect((await bench.payouts.deadLetters('tries', { limit: 1 })).items).toMatchObject([{ error: 'Error: never' }]);
    expect(await bench.payouts.dropAll('tries')).toBe(1);
  });

  it('pages through dead letters, each once, also when some go and others come between two pages', async () => {
    await grabbed('paged');
    const { outbox } = bench.keysOf('paged');
    const run = bench.payouts.run(
      ({ activityId }) => (activityId === 'paged' ? deadLetter('no account') : undefined),
      QUICK,
    );
    await eventually(async () => expect(await stats('paged')).toMatchObject({ open: 0, deadLetters: 5 }));
    const first = await bench.payouts.deadLetters('paged', { limit: 2 });
    expect(first.items).toHaveLength(2);
    expect(await bench.payouts.drop('paged', [first.items[1]?.id as string])).toBe(1);
    await bench.raw.xadd(outbox, '*', 'note', 'x');
    await eventually(async () => expect(await stats('paged')).toMatchObject({ open: 0, deadLetters: 5 }));
    await run.stop();

    const seen = first.items.map(({ id }) => id);
    let cursor = first.nextCursor;
    for (let pages = 0; cursor !== undefined && pages < 9; pages += 1) {
      const page = await bench.payouts.deadLetters('paged', { limit: 2, cursor });
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.nextCursor;
    }
    expect(seen).toHaveLength(6);
    expect(new Set(seen).size).toBe(6);
    expect(await bench.payouts.dropAll('paged')).toBe(5);
    for (const page of [{ limit: 0 }, { limit: 501 }, { cursor: '0' }, { cursor: '1:1-1' }, { cursor: '0:1-x' }])
      await expect(bench.payouts.deadLetters('paged', page)).rejects.toThrow(InvalidInputError);
  });

  it('dead-letters an entry that no grab wrote, and pays the others', async () => {
    await grabbed('foreign');
    const { outbox } = bench.keysOf('foreign');
    await bench.raw.xadd(outbox, '*', 'note', 'x');
    await bench.raw.xadd(outbox, '*', 'cents', '500', 'user', 'evil', 'at', '1');
    await bench.raw.xadd(outbox, '*', 'user', 'evil', 'packet', '1', 'cents', '-5', 'at', '1', 'more', 'y');
    await bench.packets.grab('foreign', 'last');
    const paid = await payAll(bench, 'foreign');
    expect(byUser(paid)).toEqual(byUser(await readGrants(bench, bench.keysOf('foreign'))));
    const { items } = await bench.payouts.deadLetters('foreign');
    expect(items.map(({ payout }) => payout)).toEqual([undefined, undefined, undefined]);
    expect(items[0]?.error).toMatch(/no grab wrote it/);
  });

  it('repairs a destroyed consumer group: open payouts are handled again', async () => {
    await grabbed('healed');
    const { outbox } = bench.keysOf('healed');
    await settleRows(bench, outbox, (await takeRows(bench, outbox, 3)).slice(0, 2));
    expect(await bench.raw.xgroup('DESTROY', outbox, 'payouts')).toBe(1);
    expect((await payAll(bench, 'healed')).map(({ userId }) => userId).sort()).toEqual(users.slice(2));
  });

  it('another process takes over the payouts of a dead process after its lease', async () => {
    await grabbed('left');
    const dying = await openBench(connect(), { prefix: bench.prefix });
    let taken = 0;
    dying.payouts.run(({ activityId }) => {
      if (activityId === 'left') taken += 1;
      return new Promise<void>(() => undefined);
    }, QUICK);
    await eventually(() => expect(taken).toBe(5));
    dying.close();
    const paid = await payAll(bench, 'left');
    expect(paid.map(({ userId, attempt }) => `${userId} ${attempt}`).sort()).toEqual(users.map((user) => `${user} 2`));
  });

  it('goes on with another activity of the same id, whatever its buckets', async () => {
    const short = await openBench(connect(), { retentionMs: 700 });
    const paid: string[] = [];
    const run = short.payouts.run(({ userId }) => void paid.push(userId), QUICK);
    // If the machine stands still, Redis may forget it before it is grabbed or paid: then it is created again.
    await eventually(async () => {
      if (paid.length === 0) {
        await short.packets.create(figures('again', 3));
        await short.packets.grab('again', 'one');
        await short.packets.close('again');
      }
      expect(paid).toEqual(['one']);
    });
    await eventually(async () => expect(await short.packets.status('again')).toBeUndefined());
    // All that was noted of it went with it.
    await eventually(async () => {
      const left = await keysOf(short.raw, short.prefix);
      expect(left.filter((key) => !/:(index|woken)$/.test(key))).toEqual([]);
    });
    const next = await openBench(connect(), { prefix: short.prefix });
    await next.packets.create({ ...figures('again', 4), buckets: 4 });
    for (const user of users.slice(0, 4)) await next.packets.grab('again', user);
    await eventually(() => expect(paid.slice(1).sort()).toEqual(users.slice(0, 4)), { timeoutMs: 15_000 });
    await run.stop();
    short.close();
    next.close();
  });

  it('gives two activities with one id different keys, however soon one follows the other', async () => {
    const short = await openBench(connect(), { retentionMs: 600 });
    const paid: Payout[] = [];
    const run = short.payouts.run((payout) => void paid.push(payout), { ...QUICK, discoverMs: 200 });
    for (let life = 1; life <= 2; life++) {
      // As above.
      const made = async (): Promise<void> => {
        if (paid.length < life) {
          await short.packets.create({ ...figures('twin', 3), split: 'equal' });
          await short.packets.grab('twin', 'ann');
          await short.packets.close('twin');
        }
        expect(paid).toHaveLength(life);
      };
      await eventually(made, { timeoutMs: 15_000 });
      // The run would do this after a rest of 5 s, as in the test above.
      await eventually(async () => {
        await short.packets.settle('twin');
        expect(await short.packets.status('twin')).toBeUndefined();
      });
    }
    const [first, second] = paid.map(({ activityKey, packetId, userId }) => ({ activityKey, packetId, userId }));
    expect(second).toMatchObject({ packetId: first?.packetId, userId: 'ann' });
    expect(second?.activityKey).not.toBe(first?.activityKey);
    await run.stop();
    short.close();
  });

  it('goes on with what it reads when the index of activities is lost', async () => {
    const paid: string[] = [];
    await grabbed('listed');
    const run = bench.payouts.run(({ activityId, userId }) => void paid.push(`${activityId} ${userId}`), QUICK);
    await eventually(() => expect(paid.filter((one) => one.startsWith('listed'))).toHaveLength(5));
    const entry = await bench.raw.zscore(bench.indexKey, 'listed');
    await bench.raw.zrem(bench.indexKey, 'listed');
    await new Promise((resolve) => setTimeout(resolve, 400));
    await bench.packets.grab('listed', 'late');
    await eventually(() => expect(paid).toContain('listed late'));
    await bench.raw.zadd(bench.indexKey, entry ?? 0, 'listed');
    await run.stop();
  });

  it('returns nothing for an unknown activity, and writes no key', async () => {
    expect(await bench.payouts.stats('none')).toBeUndefined();
    expect(await bench.payouts.deadLetters('none')).toEqual({ items: [] });
    expect(await bench.payouts.replayAll('none')).toBe(0);
    expect(await bench.payouts.drop('none', ['0:1-1'])).toBe(0);
    expect(await bench.raw.exists(...Object.values(bench.keysOf('none')))).toBe(0);
  });

  it('refuses invalid options, and a second run', async () => {
    const { payouts } = bench;
    expect(() => payouts.run('x' as never)).toThrow(InvalidOptionError);
    expect(() => payouts.run(() => undefined, { discoverMs: 1 })).toThrow(/discoverMs is 1/);
    expect(() => payouts.run(() => undefined, { leaseMs: 1 })).toThrow(/leaseMs is 1/);
    await expect(payouts.stats('')).rejects.toThrow(InvalidInputError);
    expect(() => new RedPacketPayouts(bench.packets, undefined).run(() => undefined)).toThrow(/StreamConsumerModule/);
    const elsewhere = await openBench(connect());
    const strayed = new RedPacketPayouts(bench.packets, elsewhere.streams, bench.registry);
    expect(() => strayed.run(() => undefined)).toThrow(/another ScriptRegistry/);
    const replaced = { outboxes: () => Promise.resolve([]) } as unknown as RedPacketService;
    const lost = new RedPacketPayouts(replaced, bench.streams);
    expect(() => lost.run(() => undefined)).toThrow(/RedPacketService was replaced/);
    await expect(lost.replayAll('a')).rejects.toThrow(InvalidOptionError);
    elsewhere.close();
    const first = payouts.run(() => undefined, QUICK);
    expect(() => payouts.run(() => undefined, QUICK)).toThrow(/already has a payout run/);
    await first.stop();
    await payouts.run(() => undefined, QUICK).stop();
  });
});

describe.each(servers)('the TTLs of an activity on %s', (_name, connect) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(connect());
  });
  afterAll(() => bench.close());

  /** When each key that is there expires; -1 for never. */
  async function ends(keys: Readonly<Record<string, string>>): Promise<Record<string, number>> {
    const found: Record<string, number> = {};
    for (const [name, key] of Object.entries(keys)) {
      if (await bench.raw.exists(key)) found[name] = await bench.raw.pexpiretime(key);
    }
    return found;
  }

  it('begin with a draft, are gone while something is owed, and come back when nothing is', async () => {
    const { packets, raw } = bench;
    const keys = bench.keysOf('ttl');
    const plan = figures('ttl', 3);
    const { meta, pool } = keys;
    await bench.registry.run(beginActivity, { keys, args: beginArgs(plan, 'f'.repeat(32)) });
    const end = (await packets.status('ttl'))?.expiresAtMs ?? 0;
    expect(await ends(keys)).toEqual({ meta: end });
    await bench.registry.run(fillPool, { keys: { meta, pool }, args: { offset: 0, chunk: ['1:100:100'] } });
    expect(await ends(keys)).toEqual({ meta: end, pool: end });
    // A draft that has lost its pool is filled again.
    await raw.del(pool);

    await packets.create({ activityId: 'ttl', totalCents: 300, packets: 3 });
    await packets.grab('ttl', 'a');
    expect(await ends(keys)).toEqual({ meta: -1, pool: -1, grants: -1, outbox: -1 });
    await packets.close('ttl');
    expect(await packets.settle('ttl')).toBe(false);
    expect(await ends(keys)).toEqual({ meta: -1, grants: -1, outbox: -1 });
    expect(await payAll(bench, 'ttl')).toHaveLength(1);
    expect(await packets.settle('ttl')).toBe(true);
    const settled = await ends(keys);
    // At least the retention from now, at one moment.
    expect(settled).toEqual({ meta: settled['meta'], grants: settled['meta'], outbox: settled['meta'] });
    expect(settled['meta']).toBeGreaterThanOrEqual(end);
    expect(settled['meta']).toBeLessThan(end + RETENTION_MS);
    expect(await packets.status('ttl')).toMatchObject({ settled: true, overdue: false, deadLetters: 0 });
    for (const key of [keys.meta, keys.grants, keys.outbox]) expect(await raw.persist(key)).toBe(1);
    await packets.status('ttl');
    expect(await ends(keys)).toEqual(settled);
    expect(await raw.pexpiretime(bench.indexKey)).toBe(-1);
  });

  it.each([1, 3])('never take a debt: it outlives the retention until it is paid (%i buckets)', async (buckets) => {
    const short = await openBench(connect(), { retentionMs: 700, soldOutMs: 0 });
    const lines: string[] = [];
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation((line: string) => void lines.push(line));
    try {
      const id = `owed {${buckets}}`;
      const winners = await eventually(async () => {
        // On a busy machine an activity without a grab may be over before the first grab.
        await short.packets.create({ ...figures(id, 3 * buckets), buckets });
        const grabs = await Promise.all(users.map((user) => short.packets.grab(id, user)));
        const won = grabs.filter(({ outcome }) => outcome === 'won' || outcome === 'already-won');
        expect(won).not.toEqual([]);
        return won.length;
      });
      let broken = true;
      const paid = new Set<string>();
      const run = short.payouts.run(({ userId }) => (broken ? deadLetter('no account') : void paid.add(userId)), QUICK);
      await eventually(async () =>
        expect(await short.payouts.stats(id)).toMatchObject({ open: 0, deadLetters: winners }),
      );
      // Every process is gone at the moment at which the retention is over.
      await run.stop();
      await short.packets.close(id);
      await eventually(async () => expect(await short.packets.status(id)).toMatchObject({ overdue: true }));
      expect(await short.packets.status(id)).toMatchObject({ settled: false, deadLetters: winners });
      const owed = short
        .bucketsOf(id, buckets)
        .flatMap(({ meta, grants, outbox, dead }) => [meta, grants, outbox, dead]);
      expect(new Set(await Promise.all(owed.map((key) => short.raw.pttl(key)))).has(-1)).toBe(true);
      expect((await Promise.all(owed.map((key) => short.raw.pttl(key)))).filter((ms) => ms >= 0)).toEqual([]);
      expect((await short.payouts.deadLetters(id)).items).toHaveLength(winners);
      // They come back, say so, and pay.
      const next = short.payouts.run(({ userId }) => void paid.add(userId), QUICK);
      await eventually(() => expect(lines.filter((line) => line.includes(JSON.stringify(id)))).not.toEqual([]));
      broken = false;
      expect(await short.payouts.replayAll(id)).toBe(winners);
      await eventually(() => expect(paid.size).toBe(winners));
      await eventually(async () => {
        await short.packets.settle(id);
        expect(await short.packets.status(id)).toBeUndefined();
      });
      await next.stop();
      // Past the minute that the index lists it for longer.
      await short.raw.zadd(short.indexKey, 'XX', 1, id);
      await short.packets.settle(id);
      // Nothing is left but the root and the list of woken activities, which have a TTL.
      const [root] = short.bucketsOf(id, 1);
      const left = (await keysOf(short.raw, short.prefix)).filter(
        (key) => !key.includes(':stream-consumer:{red-packet'),
      );
      for (const key of left) expect([root?.meta, short.wokenKey]).toContain(key);
      for (const key of left) expect(await short.raw.pttl(key)).toBeGreaterThan(0);
      expect(await short.packets.activities()).toEqual([]);
    } finally {
      warn.mockRestore();
      short.close();
    }
  });

  it('are set without a warning if a run finds an overdue activity that owes nothing', async () => {
    const short = await openBench(connect(), { retentionMs: 400 });
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    try {
      await short.packets.create(figures('paid', 2));
      await short.packets.grab('paid', 'a');
      await short.packets.close('paid');
      const { outbox } = short.keysOf('paid');
      await settleRows(short, outbox, await takeRows(short, outbox, 1));
      await eventually(async () =>
        expect(await short.packets.status('paid')).toMatchObject({ overdue: true, settled: false, outboxLength: 0 }),
      );
      const run = short.payouts.run(() => undefined, QUICK);
      await eventually(async () => {
        const status = await short.packets.status('paid');
        expect(status?.settled ?? true).toBe(true);
      });
      await run.stop();
      expect(warn.mock.calls.filter(([line]) => String(line).includes('"paid"'))).toEqual([]);
    } finally {
      warn.mockRestore();
      short.close();
    }
  });

  it('come back for what an abandoned creation left: buckets that opened, and a root that did not', async () => {
    const short = await openBench(connect(), { retentionMs: 700 });
    try {
      const next = await openBench(connect(), { prefix: short.prefix });
      const createdAtMs = performance.now();
      await short.packets.create({ ...figures('abandoned', 6), buckets: 3 });
      const [root] = short.bucketsOf('abandoned', 1);
      await short.raw.hset(root?.meta ?? '', 'state', 'draft');
      const settled = await next.packets.settle('abandoned');
      // A machine that stands still may let the retention end before that.
      if (performance.now() - createdAtMs < 700) expect(settled).toBe(false);
      await eventually(async () => expect(await next.packets.settle('abandoned')).toBe(true));
      const keys = short.bucketsOf('abandoned', 3).map(({ meta }) => meta);
      for (const key of [...keys, root?.meta ?? '']) expect([key, await short.raw.pttl(key)]).not.toEqual([key, -1]);
      next.close();
    } finally {
      short.close();
    }
  });

  it('are given to a closed activity whose debts are given up, and to no open one', async () => {
    await bench.packets.create(figures('given-up', 3));
    await bench.packets.grab('given-up', 'a');
    expect(await bench.packets.forget('given-up')).toBe(false);
    await bench.packets.close('given-up');
    expect(await bench.packets.settle('given-up')).toBe(false);
    expect(await bench.packets.forget('given-up')).toBe(true);
    const keys = bench.keysOf('given-up');
    expect(Object.values(await ends(keys)).every((at) => at > 0)).toBe(true);
  });
});
