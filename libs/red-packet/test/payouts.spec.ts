import { ConsoleLogger, Logger } from '@nestjs/common';
import { InvalidInputError } from 'luanest/script-registry';
import { deadLetter, retryLater } from 'luanest/stream-consumer';
import { RedPacketPayouts, type Payout } from 'luanest/red-packet';
import { eventually } from '../../../test/support/wait';
import { keysOf } from '../../read-reward/test/support';
import { idleChecksOf, InvalidOptionError } from '../../internal/src';
import { grabPacket } from '../src/grabs/grab.scripts';
import { beginActivity, fillPool } from '../src/activity/activity.scripts';
import {
  beginArgs,
  byUser,
  figures,
  openBench,
  ownKeys,
  payAll,
  QUICK,
  readGrants,
  RETENTION_MS,
  servers,
  settleRows,
  takeRows,
  type Bench,
} from './support';
import { few } from '../../../test/support/few';

/** These tests make attempts fail on purpose, so their logs are off. */
Logger.overrideLogger(new ConsoleLogger({ logLevels: [] }));

const users = ['a', 'b', 'c', 'd', 'e'];

describe.each(few(servers))('payouts on %s', (_name, connect) => {
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
    eventually(async () => expect(await stats(activityId)).toMatchObject({ open: 0 }));

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
    expect(await stats(id)).toEqual({ open: 0, deadLetters: 0 });
    expect(await bench.payouts.outboxStats()).toMatchObject({ length: 0, pending: 0, lag: 0 });
  });

  it('pays in activities that come up later, and rows that come when all were settled', async () => {
    const paid: string[] = [];
    const run = bench.payouts.run((payout) => void paid.push(`${payout.activityId} ${payout.userId}`), QUICK);
    await grabbed('early');
    await grabbed('late', 3);
    await settled('early');
    await settled('late');
    await bench.packets.grab('early', 'f');
    await eventually(() => expect(paid).toContain('early f'));
    expect(paid.filter((one) => one.startsWith('early') || one.startsWith('late')).sort()).toEqual(
      [...users, 'f'].map((user) => `early ${user}`).concat(users.map((user) => `late ${user}`)),
    );
    await run.stop();
    await run.stop();
  });

  it('pays what another process granted, and a row whose process died before it woke the run', async () => {
    const paid: string[] = [];
    const run = bench.payouts.run(({ userId }) => void paid.push(userId), QUICK);
    const other = await openBench(connect(), { prefix: bench.prefix });
    try {
      await other.packets.create(figures('elsewhere', 5));
      // The run reads all outboxes when it begins. What follows must wake it.
      await other.packets.grab('elsewhere', 'first');
      await eventually(() => expect(paid).toEqual(['first']));
      await other.packets.grab('elsewhere', 'second');
      await eventually(() => expect(paid).toEqual(['first', 'second']));
      const [keys] = other.bucketsOf('elsewhere', 1);
      const { meta = '', pool = '', grants = '', outbox = '', tries = '' } = keys ?? {};
      const silent = { keys: { meta, pool, grants, outbox, tries }, args: { userId: 'third', mode: 0 } };
      await other.registry.run(grabPacket, silent);
      await idleChecksOf(bench.registry).checkAll();
      await eventually(() => expect(paid).toEqual(['first', 'second', 'third']));
    } finally {
      await run.stop();
      other.close();
    }
  });

  it('pays what an operator took out of the pending list of the outbox, and nobody twice', async () => {
    await grabbed('tidied');
    let fails = true;
    const paid: string[] = [];
    const backoff = { delayMs: 3_600_000, maxDelayMs: 3_600_000 };
    const run = bench.payouts.run(
      ({ userId }) => {
        if (fails && userId > 'c') throw new Error('the bank is closed');
        paid.push(userId);
      },
      { ...QUICK, backoff, leaseMs: 3_600_000 },
    );
    await eventually(async () => expect(await bench.payouts.outboxStats()).toMatchObject({ due: 2, pending: 2 }));
    const [{ outbox = '' } = {}] = bench.bucketsOf('tidied', 1);
    const [row = []] = (await bench.raw.call('XINFO', 'GROUPS', outbox)) as string[][];
    const group = row[1] as string;
    for (const [, name = ''] of (await bench.raw.call('XINFO', 'CONSUMERS', outbox, group)) as string[][]) {
      await bench.raw.call('XGROUP', 'DELCONSUMER', outbox, group, name);
    }
    await idleChecksOf(bench.registry).checkAll();
    expect(await stats('tidied')).toMatchObject({ open: 2 });
    fails = false;
    const due = bench.registry.keySpace('stream-consumer').sameSlotAs(outbox).key('due', group, outbox);
    for (const id of await bench.raw.zrange(due, '0', '-1')) await bench.raw.zadd(due, 'XX', '1', id);
    await idleChecksOf(bench.registry).checkAll();
    await settled('tidied');
    expect(paid.sort()).toEqual(users);
    await run.stop();
  });

  it('pays a dead letter that is replayed after the activity was closed', async () => {
    await grabbed('closed');
    let fails = true;
    const paid: Payout[] = [];
    const run = bench.payouts.run((payout) => {
      if (fails && payout.userId === 'c') return deadLetter('no such account');
      if (payout.activityId === 'closed') paid.push(payout);
      return undefined;
    }, QUICK);
    await settled('closed');
    await bench.packets.close('closed');
    expect(await bench.packets.settle('closed')).toBe(false);
    const { items } = await bench.payouts.deadLetters('closed');
    expect(items).toMatchObject([{ payload: { userId: 'c' }, error: 'no such account', attemptsMade: 1 }]);
    const report = await bench.packets.audit('closed', { deep: true, ledger: paid });
    expect(report).toMatchObject({ ok: true, deep: { quiet: true, deadLetters: 1, paid: { packets: 4 } } });
    fails = false;
    expect(
      await bench.payouts.replay(
        'closed',
        items.map(({ id }) => id),
      ),
    ).toBe(1);
    await eventually(() => expect(paid.map(({ userId }) => userId).sort()).toEqual(users));
    await settled('closed');
    expect(await stats('closed')).toEqual({ open: 0, deadLetters: 0 });
    expect(await bench.packets.settle('closed')).toBe(true);
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
    const run = bench.payouts.run(
      ({ activityId }) => (activityId === 'paged' ? deadLetter('no account') : undefined),
      QUICK,
    );
    await eventually(async () => expect(await stats('paged')).toMatchObject({ open: 0, deadLetters: 5 }));
    const first = await bench.payouts.deadLetters('paged', { limit: 2 });
    expect(first.items).toHaveLength(2);
    expect(await bench.payouts.drop('paged', [first.items[1]?.id as string])).toBe(1);
    await bench.packets.grab('paged', 'f');
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
    await bench.raw.xadd(outbox, '*', 'grant', '1:500:1', 'user', 'evil');
    await bench.raw.xadd(outbox, '*', 'user', 'evil', 'grant', '1:-5:1', 'more', 'y');
    await bench.packets.grab('foreign', 'last');
    // A row of another partition, a bucket that does not exist, and ids that are not encoded as they must be.
    const [[, real = []] = []] = await bench.raw.xrange(outbox, '-', '+', 'COUNT', 1);
    const { outbox: other } = bench.activities.layouts.outboxes
      .map((key) => ({ outbox: key }))
      .find((each) => each.outbox !== outbox) as { outbox: string };
    await bench.raw.xadd(other, '*', ...real);
    for (const owner of ['foreign@1/1/1', 'foreign@x/1/0', '%@1/1/0', '@1/1/0', `${'x'.repeat(129)}@1/1/0`])
      await bench.raw.xadd(outbox, '*', 'activity', owner, ...real.slice(2));
    // At least once: on a machine that stands still for long, a payout may be handled again.
    const paid = new Map((await payAll(bench, 'foreign')).map((payout) => [payout.packetId, payout]));
    expect(byUser([...paid.values()])).toEqual(byUser(await readGrants(bench, bench.keysOf('foreign'))));
    expect(await bench.payouts.deadLetters('foreign')).toEqual({ items: [] });
    const run = bench.payouts.run(() => undefined, QUICK);
    await eventually(async () => {
      const { items } = await bench.streams.deadLetters('red-packet.payouts', 'payouts');
      expect(items).toHaveLength(9);
      for (const { error } of items) expect(error).toMatch(/is not a payout of a red packet/);
    });
    await run.stop();
    expect(await bench.packets.audit('foreign', { deep: true })).toMatchObject({ ok: true });
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
    await eventually(async () => {
      await short.packets.settle('again');
      expect(await short.packets.status('again')).toBeUndefined();
    });
    // All that was noted of it went with it.
    await eventually(async () => {
      const left = await keysOf(short.raw, short.prefix);
      expect(left.filter((key) => !/(:\{activities\}:\w+|:outbox)$|:stream-consumer:/.test(key))).toEqual([]);
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
    const run = short.payouts.run((payout) => void paid.push(payout), QUICK);
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

  it('returns nothing for an unknown activity, and writes no key', async () => {
    expect(await bench.payouts.stats('none')).toBeUndefined();
    expect(await bench.payouts.deadLetters('none')).toEqual({ items: [] });
    expect(await bench.payouts.replayAll('none')).toBe(0);
    expect(await bench.payouts.drop('none', ['0:1-1'])).toBe(0);
    expect(await bench.raw.exists(...Object.values(ownKeys(bench.keysOf('none'))))).toBe(0);
  });

  it('refuses invalid options, and a second run', async () => {
    const { payouts } = bench;
    expect(() => payouts.run('x' as never)).toThrow(InvalidOptionError);
    expect(() => payouts.run(() => undefined, { leaseMs: 1 })).toThrow(/leaseMs is 1/);
    // Consumers have up to 10,000 attempts. At the last of them, stream-consumer would dead-letter the row instead of the run.
    expect(() => payouts.run(() => undefined, { attempts: 10_000 })).toThrow(/attempts is 10000.*1 to 9999/);
    await expect(payouts.stats('')).rejects.toThrow(InvalidInputError);
    const alone = new RedPacketPayouts(bench.registry, bench.activities);
    expect(() => alone.run(() => undefined)).toThrow(/StreamConsumerModule/);
    expect(await alone.replayAll('a')).toBe(0);
    const elsewhere = await openBench(connect());
    const strayed = new RedPacketPayouts(bench.registry, bench.activities, elsewhere.streams);
    expect(() => strayed.run(() => undefined)).toThrow(/another ScriptRegistry/);
    elsewhere.close();
    const first = payouts.run(() => undefined, QUICK);
    expect(() => payouts.run(() => undefined, QUICK)).toThrow(/that run still pays/);
    await first.stop();
    await payouts.run(() => undefined, QUICK).stop();
  });
});

describe.each(few(servers))('the TTLs of an activity on %s', (_name, connect) => {
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
    const { outbox, ...keys } = bench.keysOf('ttl');
    const plan = figures('ttl', 3);
    const { meta, pool } = keys;
    await bench.registry.run(beginActivity, {
      keys: { meta, pool, grants: keys.grants },
      args: beginArgs(plan, 'f'.repeat(32)),
    });
    const end = (await packets.status('ttl'))?.expiresAtMs ?? 0;
    expect(await ends(keys)).toEqual({ meta: end });
    await bench.registry.run(fillPool, { keys: { meta, pool }, args: { offset: 0, chunk: ['1:100:100'] } });
    expect(await ends(keys)).toEqual({ meta: end, pool: end });
    // A draft that has lost its pool is filled again.
    await raw.del(pool);

    await packets.create({ activityId: 'ttl', totalCents: 300, packets: 3 });
    await packets.grab('ttl', 'a');
    expect(await ends(keys)).toEqual({ meta: -1, pool: -1, grants: -1 });
    await packets.close('ttl');
    expect(await packets.settle('ttl')).toBe(false);
    expect(await ends(keys)).toEqual({ meta: -1, grants: -1, refunds: -1 });
    expect(await payAll(bench, 'ttl')).toHaveLength(1);
    expect(await packets.settle('ttl')).toBe(true);
    const settled = await ends(keys);
    // At least the retention from now, at one moment.
    expect(settled).toEqual({ meta: settled['meta'], grants: settled['meta'], refunds: settled['meta'] });
    expect(settled['meta']).toBeGreaterThanOrEqual(end);
    expect(settled['meta']).toBeLessThan(end + RETENTION_MS);
    expect(await packets.status('ttl')).toMatchObject({ settled: true, overdue: false, deadLetters: 0 });
    for (const key of [keys.meta, keys.grants]) expect(await raw.persist(key)).toBe(1);
    await packets.status('ttl');
    expect(await ends(keys)).toEqual(settled);
    expect(await raw.pexpiretime(outbox)).toBe(-1);
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
        const won = grabs.filter(({ status }) => status === 'won' || status === 'already-won');
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
      expect(lines.filter((line) => line.includes(JSON.stringify(id)))).toHaveLength(winners);
      // They come back, and pay.
      const next = short.payouts.run(({ userId }) => void paid.add(userId), QUICK);
      broken = false;
      expect(await short.payouts.replayAll(id)).toBe(winners);
      await eventually(() => expect(paid.size).toBe(winners));
      await eventually(async () => {
        await short.packets.settle(id);
        expect(await short.packets.status(id)).toBeUndefined();
      });
      await next.stop();
      // Nothing is left but the root, which has a TTL, and the keys that all activities share.
      const [root] = short.bucketsOf(id, 1);
      const shared = /:red-packet:\{activities\}:|:outbox$|:stream-consumer:/;
      const left = (await keysOf(short.raw, short.prefix)).filter((key) => !shared.test(key));
      for (const key of left) expect(key).toBe(root?.meta);
      for (const key of left) expect(await short.raw.pttl(key)).toBeGreaterThan(0);
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
    await bench.packets.create({ ...figures('paid-later', 3), buckets: 3 });
    for (const user of users) await bench.packets.grab('paid-later', user);
    expect(await bench.packets.forget('given-up')).toBe(true);
    expect(Object.values(await ends(ownKeys(bench.keysOf('given-up')))).every((at) => at > 0)).toBe(true);
    // Its row is gone, and no row of another activity is.
    expect(await bench.payouts.stats('given-up')).toEqual({ open: 0, deadLetters: 0 });
    expect(await payAll(bench, 'paid-later')).toHaveLength(3);
    expect(await payAll(bench, 'given-up')).toEqual([]);
  });

  it('are given to an activity that is given up after Redis has lost the counters of a bucket: its rows are deleted', async () => {
    await bench.packets.create({ ...figures('given-up-lost', 20), buckets: 2 });
    for (let i = 0; i < 20; i++) await bench.packets.grab('given-up-lost', `user-${i}`);
    const [lost, other] = bench.bucketsOf('given-up-lost', 2);
    if (lost === undefined || other === undefined) throw new Error('There are no buckets.');
    await settleRows(bench, other.outbox, await takeRows(bench, other.outbox, 20, 'given-up-lost'));
    const rows = await bench.raw.xlen(lost.outbox);
    await bench.raw.del(lost.meta);
    await bench.packets.close('given-up-lost');
    expect(await bench.packets.forget('given-up-lost')).toBe(true);
    expect(await bench.raw.xlen(lost.outbox)).toBeLessThan(rows);
    expect(await payAll(bench, 'given-up-lost')).toEqual([]);
  });
});
