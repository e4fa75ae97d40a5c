import { InvalidInputError } from 'luanest/script-registry';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { parseLedgerRow, ReadRewardEvents } from 'luanest/read-reward';
import { recordFully, recordRead, refundGrant } from '../src/read-reward.scripts';
import { keysOf, openBench, servers, type Bench } from './support';

describe.each(servers)('rewards on %s', (_name, connect) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(connect());
  });
  afterAll(() => bench.close());

  const read = (userId: string, itemId: string, rule = 'read') => ({ rule, userId, itemId });

  it('grants distinct items up to the limit, and reports duplicates also when the day is full', async () => {
    const rewards = bench.service({ read: { limit: 2, pointsPerItem: 5 } });
    const first = await rewards.record(read('u', 'a'));
    expect(first).toMatchObject({ status: 'rewarded', points: 5, used: 1, remaining: 1 });
    expect(first.grantId).toEqual(expect.any(String));
    expect((first.resetsAtMs as number) % 86_400_000).toBe(0);
    expect(await rewards.record(read('u', 'a'))).toMatchObject({
      status: 'duplicate',
      points: 0,
      used: 1,
      grantId: null,
    });
    expect(await rewards.record(read('u', 'b'))).toMatchObject({ status: 'rewarded', used: 2, remaining: 0 });
    expect(await rewards.record(read('u', 'c'))).toMatchObject({ status: 'capped', points: 0, used: 2, remaining: 0 });
    expect(await rewards.record(read('u', 'a'))).toMatchObject({ status: 'duplicate', used: 2 });
    const status = { rule: 'read', points: 10, used: 2, remaining: 0, resetsAtMs: first.resetsAtMs };
    expect(await rewards.status('u')).toEqual([status]);
  });

  it('never passes the limit, however many ask at once, and users do not share', async () => {
    const rewards = bench.service({ read: { limit: 5 } });
    const reads = Array.from({ length: 600 }, (_, i) => read(`crowd${i % 20}`, `item${i % 30}`));
    const answers = await Promise.all(reads.map((one) => rewards.record(one)));
    expect(answers.filter(({ status }) => status === 'rewarded')).toHaveLength(20 * 3);
    const many = await Promise.all(Array.from({ length: 100 }, (_, i) => rewards.record(read('one', `i${i}`))));
    expect(many.filter(({ status }) => status === 'rewarded')).toHaveLength(5);
    expect(new Set(many.flatMap(({ grantId }) => grantId ?? [])).size).toBe(5);
  });

  it('grants what is left under a cap of points, and gives it back', async () => {
    const rewards = bench.service({ read: { limit: 10, pointsPerItem: 4, capPoints: 10 } });
    const points = [];
    for (const item of ['a', 'b', 'c']) points.push(await rewards.record(read('partial', item)));
    expect(points.map((answer) => [answer.points, answer.remaining])).toEqual([
      [4, 2],
      [4, 1],
      [2, 0],
    ]);
    expect(await rewards.record(read('partial', 'd'))).toMatchObject({ status: 'capped', used: 3 });
    expect(await rewards.refund(points[0]?.grantId as string)).toEqual({ status: 'refunded', points: 4, used: 2 });
    expect(await rewards.record(read('partial', 'd'))).toMatchObject({ status: 'rewarded', points: 4 });
  });

  it('refunds once, and returns unknown or expired for a grant that never was', async () => {
    const rewards = bench.service({ read: { limit: 1 } });
    const { grantId } = await rewards.record(read('back : {u}%', 'Ü/é:1'));
    expect(await rewards.refund(grantId as string)).toEqual({ status: 'refunded', points: 1, used: 0 });
    expect(await rewards.refund(grantId as string)).toEqual({ status: 'already-refunded', points: 0, used: 0 });
    const again = await rewards.record(read('back : {u}%', 'Ü/é:1'));
    expect(again.status).toBe('rewarded');
    expect(again.grantId).not.toBe(grantId);
    expect(await rewards.refund(grantId as string)).toMatchObject({ status: 'already-refunded', used: 1 });
    const forged = (again.grantId as string).replace(/:\d+:(back)/, ':99:$1');
    expect(await rewards.refund(forged)).toMatchObject({ status: 'unknown' });
    expect((await rewards.status('back : {u}%'))[0]).toMatchObject({ used: 1, remaining: 0 });
  });

  it('returns the first result of an operation id again, whatever happened since', async () => {
    const rewards = bench.service({ read: { limit: 1 } });
    const won = await rewards.record({ ...read('op', 'a'), operationId: 'x' });
    const capped = await rewards.record({ ...read('op', 'b'), operationId: 'y' });
    expect([won.status, capped.status]).toEqual(['rewarded', 'capped']);
    await rewards.refund(won.grantId as string);
    expect(await rewards.record({ ...read('op', 'a'), operationId: 'x' })).toEqual(won);
    expect(await rewards.record({ ...read('op', 'b'), operationId: 'y' })).toEqual(capped);
    expect((await rewards.status('op'))[0]).toMatchObject({ used: 0 });
  });

  it('applies a changed limit at once: more room, or none until the period ends', async () => {
    const few = bench.service({ read: { limit: 1 } });
    const more = bench.service({ read: { limit: 3 } });
    await few.record(read('changed', 'a'));
    expect(await few.record(read('changed', 'b'))).toMatchObject({ status: 'capped' });
    expect(await more.record(read('changed', 'b'))).toMatchObject({ status: 'rewarded', used: 2, remaining: 1 });
    expect(await few.record(read('changed', 'c'))).toMatchObject({ status: 'capped', used: 2, remaining: 0 });
  });

  it('applies changed points at once: each grant keeps its own', async () => {
    const [five, two] = [5, 2].map((pointsPerItem) => bench.service({ read: { limit: 9, pointsPerItem } }));
    if (five === undefined || two === undefined) throw new Error('unreachable');
    const before = await five.record(read('points', 'a'));
    expect(await two.record(read('points', 'b'))).toMatchObject({
      status: 'rewarded',
      points: 2,
      used: 2,
      remaining: 7,
    });
    expect(await two.record(read('points', 'c'))).toMatchObject({ status: 'rewarded', points: 2, used: 3 });
    expect(await two.record(read('points', 'a'))).toMatchObject({ status: 'duplicate', used: 3 });
    expect((await five.status('points'))[0]).toMatchObject({ points: 9, used: 3 });
    expect(await two.refund(before.grantId as string)).toEqual({ status: 'refunded', points: 5, used: 2 });
    expect((await two.status('points'))[0]).toMatchObject({ points: 4, used: 2 });
    expect(await five.record(read('points', 'a'))).toMatchObject({ status: 'rewarded', points: 5, used: 3 });
    expect((await two.status('points'))[0]).toMatchObject({ points: 9, used: 3 });
  });

  it('applies changed points under a cap of points, also for users whose period was full', async () => {
    const [five, two] = [5, 2].map((pointsPerItem) =>
      bench.service({ read: { limit: 9, pointsPerItem, capPoints: 10 } }),
    );
    if (five === undefined || two === undefined) throw new Error('unreachable');
    const record = async (service: typeof two, itemId: string) => {
      const { status, points, used, remaining } = await service.record(read('capped-points', itemId));
      return [status, points, used, remaining];
    };
    expect(await record(five, 'a')).toEqual(['rewarded', 5, 1, 1]);
    expect(await record(two, 'b')).toEqual(['rewarded', 2, 2, 2]);
    expect(await record(two, 'c')).toEqual(['rewarded', 2, 3, 1]);
    expect(await record(two, 'd')).toEqual(['rewarded', 1, 4, 0]);
    for (const service of [two, five, two]) expect(await record(service, 'e')).toEqual(['capped', 0, 4, 0]);
    expect(await record(two, 'd')).toEqual(['duplicate', 0, 4, 0]);
    expect((await two.status('capped-points'))[0]).toMatchObject({ points: 10, used: 4, remaining: 0 });
  });

  it('keeps items in later periods with dedupe ever, and has no resetsAtMs with period total', async () => {
    const rewards = bench.service({ ever: { limit: 9, dedupe: 'ever' }, total: { limit: 1, period: 'total' } });
    expect(await rewards.record(read('e', 'a', 'ever'))).toMatchObject({ status: 'rewarded' });
    expect(await rewards.record(read('e', 'a', 'ever'))).toMatchObject({ status: 'duplicate' });
    expect(await rewards.record(read('e', 'a', 'total'))).toMatchObject({ status: 'rewarded', resetsAtMs: null });
    const other = await rewards.record(read('e', 'b', 'total'));
    expect(other).toMatchObject({ status: 'capped', resetsAtMs: null });
    expect((await rewards.status('e')).map(({ rule, used }) => [rule, used])).toEqual([
      ['ever', 1],
      ['total', 1],
    ]);
  });

  it('writes each grant and refund to the ledger, and nothing for other results', async () => {
    const rewards = bench.service(
      { read: { limit: 1, pointsPerItem: 3 } },
      { ledgerRetentionMs: 86_400_000, partitions: 1 },
    );
    const { grantId } = await rewards.record(read('l', 'a'));
    await rewards.record(read('l', 'a'));
    await rewards.record(read('l', 'b'));
    await rewards.refund(grantId as string);
    const entries = await bench.raw.xrange(rewards.ledgerKeys()[0] as string, '-', '+');
    const row = { grantId, rule: 'read', userId: 'l', itemId: 'a', points: 3, atMs: expect.any(Number) };
    expect(entries.map(([, fields]) => parseLedgerRow(fields))).toEqual([
      { kind: 'grant', ...row },
      { kind: 'refund', ...row },
    ]);
  });

  it('gives every key a TTL', async () => {
    const keys = await keysOf(bench.raw, bench.prefix);
    for (const kind of ['state', 'ever', 'answer', 'receipt', 'ledger']) {
      expect(keys.some((key) => key.includes(`:${kind}`))).toBe(true);
    }
    const ttls = await Promise.all(keys.map((key) => bench.raw.pttl(key)));
    expect(Math.min(...ttls)).toBeGreaterThan(0);
  });

  it('refuses invalid ids, rules, zones and grant ids before anything is written', async () => {
    const rewards = bench.service({ read: { limit: 1 } });
    const wrong = [
      { rule: 'none' },
      { userId: '' },
      { itemId: 'x'.repeat(257) },
      { itemId: '\ud800' },
      { operationId: '' },
      { timeZone: 'Mars/Base' },
    ];
    for (const part of wrong) {
      await expect(rewards.record({ ...read('bad', 'a'), ...part })).rejects.toThrow(InvalidInputError);
    }
    for (const grantId of ['', 'read:1:1:u', 'read:x:1:u:a', 'none:1:1:u:a', 'read:1:1:%:a']) {
      await expect(rewards.refund(grantId)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    }
    expect((await keysOf(bench.raw, bench.prefix)).filter((key) => key.endsWith(':bad'))).toEqual([]);
  });

  it('refuses bad durations and keys of a wrong type in the scripts, before the first write', async () => {
    const tag = bench.registry.keySpace('read-reward').tag('wrong');
    const [state, ever, answer, ledger] = ['state', 'ever', 'answer', 'ledger'].map((name) => tag.key(name)) as [
      string,
      string,
      string,
      string,
    ];
    const keys = { state, ever, answer, ledger };
    const now = Date.now();
    const instants = [-2, -1, 1, 2, 3].map((n) => now + n * 1_000_000);
    const bounds = instants.join(':');
    const [, start, end, after] = instants;
    const lean = {
      itemId: 'a',
      grant: '1::t',
      limit: 1,
      gap: 1_000_000,
      current: `${start}:${end}:${after}:1:`,
    };
    const figures = { itemId: 'a', token: 't', everMs: 1_000, answerMs: 1_000, ledgerMs: 1_000 };
    const args = { ...figures, rule: `1:1:0:0:${bounds}`, name: 'r', userId: 'u' };
    for (const rule of ['', `1:0:0:0:${bounds}`, `1:1:0:20.5:${bounds}`, `1:1:0:-1:${bounds}`, '1:1:0:0:5:4:3:2:1']) {
      await expect(bench.registry.run(recordFully, { keys, args: { ...args, rule } })).rejects.toThrow(/BADRULE/);
    }
    const all = `${start}:${end}:${after}`;
    const periods = ['', 'x', `${start}:${end}:`, `${all}:`, `${all}:1`, `${all}:0:`, `${end}:${start}:${after}:1:`];
    for (const current of [...periods, '5:4:3:1:', `${start}:${end}:${end}:1:`]) {
      expect(await bench.registry.run(recordRead, { keys, args: { ...lean, current } })).toMatchObject({ status: 0 });
    }
    for (const field of ['everMs', 'answerMs', 'ledgerMs'] as const) {
      for (const value of [20.5, -1, NaN, 2 ** 53]) {
        await expect(bench.registry.run(recordFully, { keys, args: { ...args, [field]: value } })).rejects.toThrow();
      }
    }
    const refund = {
      itemId: 'a',
      start: 1,
      seq: 1,
      token: 't',
      answerMs: 0,
      everMs: 0,
      ledgerMs: 0,
      name: 'r',
      userId: 'u',
    };
    for (const answerMs of [20.5, 0, -1, NaN, 2 ** 53]) {
      const call = { keys: { state, ever, receipt: answer, ledger }, args: { ...refund, answerMs } };
      await expect(bench.registry.run(refundGrant, call)).rejects.toThrow();
    }
    expect(await bench.raw.exists(state, ever, answer, ledger)).toBe(0);
    for (const key of Object.values(keys)) {
      await bench.raw.zadd(key, 1, 'x');
      await expect(bench.registry.run(recordFully, { keys, args })).rejects.toMatchObject({ code: 'SCRIPT_FAILED' });
      if (key === state)
        await expect(bench.registry.run(recordRead, { keys, args: lean })).rejects.toMatchObject({
          code: 'SCRIPT_FAILED',
        });
      await bench.raw.del(key);
      expect(await bench.raw.exists(state, ever, answer, ledger)).toBe(0);
    }
    // The state of a period that has begun: a period that is cut short must not pass for it.
    expect(await bench.registry.run(recordRead, { keys, args: lean })).toEqual({ status: 1, used: 1, seq: 1 });
    const before = await bench.raw.hgetall(state);
    for (const current of ['', `${start}`, `${start}:${end}:`, `${all}:`, `${all}:1:0:`, `${all}:2:`]) {
      const cut = { ...lean, grant: '1::u', itemId: 'b', limit: 9, current };
      await bench.registry.run(recordRead, { keys, args: cut }).then(
        (result) => expect([current, result.status]).toEqual([current, 0]),
        (error: unknown) => expect(error).toMatchObject({ code: 'SCRIPT_FAILED' }),
      );
      expect(await bench.raw.hgetall(state)).toEqual(before);
    }
    await bench.raw.del(state);
  });

  it('publishes what happened, without users and items', async () => {
    const seen: unknown[] = [];
    const listen = (message: unknown) => seen.push(message);
    subscribe(ReadRewardEvents.readRecorded, listen);
    subscribe(ReadRewardEvents.grantRefunded, listen);
    const rewards = bench.service({ read: { limit: 1 } });
    const { grantId } = await rewards.record(read('event', 'a'));
    await rewards.refund(grantId as string);
    unsubscribe(ReadRewardEvents.readRecorded, listen);
    unsubscribe(ReadRewardEvents.grantRefunded, listen);
    expect(seen).toEqual([
      { rule: 'read', status: 'rewarded', points: 1 },
      { rule: 'read', status: 'refunded', points: 1 },
    ]);
  });
});
