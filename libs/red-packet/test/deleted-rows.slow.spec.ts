import { Logger } from '@nestjs/common';
import type { AuditResult } from 'luanest/red-packet';
import { size } from '../../../test/support/size';
import { eventually } from '../../../test/support/wait';
import { idleChecksOf } from '../../internal/src';
import type { PaidPacket } from '../src/audit/audit.types';
import { figures, openBench, packetOf, payAll, servers, type Bench } from './support';

describe.each(servers)('payout rows that another program deletes, on %s', (_name, connect) => {
  let bench: Bench;
  /** Packets that the ledger has paid. */
  let ledger: PaidPacket[];
  beforeEach(async () => {
    bench = await openBench(connect());
    ledger = [];
  });
  afterEach(() => bench.close());

  async function grab(userId: string): Promise<PaidPacket> {
    const { packetId, amountCents } = packetOf(await bench.packets.grab('a', userId));
    return { userId, packetId, amountCents };
  }

  async function pay(): Promise<PaidPacket[]> {
    const paid = await payAll(bench, 'a');
    const rows = paid.map(({ userId, packetId, amountCents }) => ({ userId, packetId, amountCents }));
    ledger.push(...rows);
    return rows;
  }

  async function audit(): Promise<AuditResult> {
    const report = await bench.packets.audit('a', { ledger });
    if (report === undefined) throw new Error('There is no activity.');
    return report;
  }

  /** Ids of the rows of a user in all outboxes, and the outbox of each. */
  async function rowsOf(userId: string, buckets: number): Promise<[outbox: string, id: string][]> {
    const found: [string, string][] = [];
    for (const { outbox } of bench.bucketsOf('a', buckets)) {
      for (const [id, fields] of await bench.raw.xrange(outbox, '-', '+')) {
        if (fields.includes(userId) && !found.some(([, other]) => other === id)) found.push([outbox, id]);
      }
    }
    return found;
  }

  async function deletes(userId: string, buckets: number): Promise<void> {
    const [row] = await rowsOf(userId, buckets);
    if (row === undefined) throw new Error(`${userId} has no row.`);
    expect(await bench.raw.xdel(...row)).toBe(1);
  }

  const healthy = async () => {
    expect(await audit()).toMatchObject({ ok: true, problems: [], deep: { unpaid: [] } });
    expect(await bench.payouts.stats('a')).toEqual({ open: 0, deadLetters: 0 });
  };

  it.each([1, 3])('are found with user and amount, and written again; with %i buckets', async (buckets) => {
    await bench.packets.create({ ...figures('a', 8, 5_000), buckets });
    await grab('paid');
    await pay();
    const lost = await grab('lost');
    const waits = await grab('waits');
    await deletes('lost', buckets);

    const report = await audit();
    expect(report).toMatchObject({ ok: false, deep: { quiet: true, unpaid: [lost] } });
    expect(report.problems.join('\n')).toContain(
      `packet ${lost.packetId} is granted to "lost" (${lost.amountCents} cents), but the ledger has not paid it`,
    );
    expect(await bench.packets.repairPayouts('a', { ledger })).toEqual({ status: 'repaired', requeued: 1 });
    expect(await bench.packets.repairPayouts('a', { ledger })).toEqual({ status: 'repaired', requeued: 0 });
    expect(await bench.payouts.stats('a')).toEqual({ open: 2, deadLetters: 0 });
    expect(await rowsOf('lost', buckets)).toHaveLength(1);
    expect(await pay()).toEqual(expect.arrayContaining([lost, waits]));
    await healthy();
  });

  it('are written once by two operators', async () => {
    await bench.packets.create(figures('a', 8));
    await grab('lost');
    await deletes('lost', 1);
    const repairs = await Promise.all([0, 1, 2].map(() => bench.packets.repairPayouts('a', { ledger })));
    expect(repairs.reduce((sum, repair) => sum + (repair?.requeued ?? 0), 0)).toBe(1);
    expect(await rowsOf('lost', 1)).toHaveLength(1);
    await pay();
    await healthy();
  });

  it.each<[string, (outbox: string) => Promise<unknown>]>([
    ['XTRIM', (outbox) => bench.raw.xtrim(outbox, 'MAXLEN', 0)],
    ['DEL', (outbox) => bench.raw.del(outbox)],
  ])('are written again after %s', async (_command, clear) => {
    await bench.packets.create(figures('a', 200));
    const rows = size(40, 150);
    const lost = await Promise.all(Array.from({ length: rows }, (_, i) => grab(`u${i}`)));
    await clear(bench.keysOf('a').outbox);
    expect(await bench.packets.repairPayouts('a', { ledger })).toEqual({ status: 'repaired', requeued: rows });
    expect(await pay()).toEqual(expect.arrayContaining(lost));
    await healthy();
  });

  it('and that were paid count as settled', async () => {
    await bench.packets.create(figures('a', 8));
    ledger.push(await grab('paid'));
    await deletes('paid', 1);
    expect((await audit()).problems).toEqual(['open payouts, counted one by one: 0, but by the counters in Redis: 1']);
    expect(await bench.packets.repairPayouts('a', { ledger })).toEqual({ status: 'repaired', requeued: 0 });
    await healthy();
  });

  it('are not written if it is unclear which winners an operator has paid by other means', async () => {
    await bench.packets.create(figures('a', 8));
    const dropped = await grab('dropped');
    await pay();
    ledger = [];
    const lost = await grab('lost');
    await deletes('lost', 1);
    expect(await bench.packets.repairPayouts('a', { ledger })).toEqual({ status: 'unclear', requeued: 0 });
    ledger = [dropped];
    expect(await bench.packets.repairPayouts('a', { ledger })).toEqual({ status: 'repaired', requeued: 1 });
    expect(await pay()).toEqual([lost]);
    await healthy();
  });

  it('need a ledger to be found', async () => {
    await bench.packets.create(figures('a', 8));
    await expect(bench.packets.repairPayouts('a')).rejects.toThrow(
      'ledger is undefined. Expected the packets that were paid',
    );
    expect(await bench.packets.repairPayouts('b', { ledger })).toBeUndefined();
  });

  it('are not those of consumers that XGROUP DELCONSUMER removes', async () => {
    jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    await bench.packets.create(figures('a', 8));
    const mine = await grab('mine');
    const { outbox } = bench.keysOf('a');
    let fails = true;
    const run = bench.payouts.run(
      ({ userId, packetId, amountCents }) => {
        if (fails) throw new Error('not now');
        ledger.push({ userId, packetId, amountCents });
      },
      { backoff: { delayMs: 1_000 } },
    );
    await eventually(async () => expect(await bench.payouts.outboxStats()).toMatchObject({ due: 1 }));
    for (const row of (await bench.raw.call('XINFO', 'CONSUMERS', outbox, 'payouts')) as string[][]) {
      await bench.raw.xgroup('DELCONSUMER', outbox, 'payouts', row[1] as string);
    }
    fails = false;
    expect(await audit()).toMatchObject({ ok: true });
    expect(await bench.packets.repairPayouts('a', { ledger })).toEqual({ status: 'repaired', requeued: 0 });
    await eventually(async () => {
      await idleChecksOf(bench.registry).checkAll();
      expect(ledger).toEqual([mine]);
    });
    await eventually(healthy);
    await run.stop();
  });
});
