import { Logger } from '@nestjs/common';
import { idleChecksOf } from '../../internal/src';
import { eventually } from '../../../test/support/wait';
import { standaloneClient } from '../../script-registry/test/support';
import { buryPayout, settlePayout } from '../src/payouts/payout.scripts';
import { figures, openBench, packetOf, quiet, QUICK, type Bench } from './support';

let bench: Bench;
beforeEach(async () => {
  // A lease that ends would be another attempt.
  bench = await openBench(quiet(standaloneClient()), { leaseMs: 30_000 });
  jest.spyOn(Logger.prototype, 'warn').mockImplementation();
});
afterEach(() => bench.close());

type Run = (...call: unknown[]) => Promise<unknown>;

/** Calls `work` around the first call of a script. */
function around(script: unknown, work: (run: () => Promise<unknown>, keys: string[]) => Promise<unknown>): void {
  const run = bench.registry.run.bind(bench.registry) as Run;
  let done = false;
  jest.spyOn(bench.registry, 'run').mockImplementation(async (...call: unknown[]) => {
    if (done || call[0] !== script) return run(...call);
    done = true;
    const keys = Object.values((call[1] as { keys: Record<string, string> }).keys);
    return work(() => run(...call), keys);
  });
}

const paidUp = () => expect(bench.payouts.stats('a')).resolves.toEqual({ open: 0, deadLetters: 0 });

it('a settlement that a failover loses before the acknowledgement is made again', async () => {
  await bench.packets.create(figures('a', 2));
  packetOf(await bench.packets.grab('a', 'u'));
  around(settlePayout, async (run, keys) => {
    const before = await Promise.all(keys.map(async (key) => [key, await bench.raw.dumpBuffer(key)] as const));
    const reply = await run();
    for (const [key, value] of before) if (value !== null) await bench.raw.restore(key, 0, value, 'REPLACE');
    return reply;
  });
  const handled: number[] = [];
  const run = bench.payouts.run(({ attempt }) => void handled.push(attempt), QUICK);
  await eventually(() => expect(handled).toEqual([1]));
  await eventually(async () => {
    await idleChecksOf(bench.registry).checkAll();
    await paidUp();
  });
  expect(handled).toEqual([1, 1]);
  expect(await bench.raw.xlen(bench.keysOf('a').outbox)).toBe(0);
  expect((await bench.packets.audit('a', { deep: true }))?.problems).toEqual([]);
  await run.stop();
});

it('a payout that a late process dead-letters while another one pays it is not listed as dead-lettered', async () => {
  await bench.packets.create(figures('a', 2));
  packetOf(await bench.packets.grab('a', 'u'));
  const { outbox, meta, dead } = { ...bench.keysOf('a'), dead: bench.bucketsOf('a', 1)[0]?.dead ?? '' };
  const owner = (await bench.raw.hget(meta, 'activity')) ?? '';
  let buried = 0;
  const run = bench.payouts.run(async () => {
    const [[rowId = ''] = []] = await bench.raw.xrange(outbox, '-', '+');
    const why = { problem: 'no answer', attempts: 20, firstSeenMs: 1 };
    const outcome = await bench.registry.run(buryPayout, {
      keys: { outbox, meta, dead },
      args: { rowId, owner, ...why },
    });
    if (outcome === 'buried') buried += 1;
  }, QUICK);
  await eventually(() => expect(buried).toBe(1));
  await eventually(paidUp);
  await run.stop();
  expect((await bench.packets.audit('a', { deep: true }))?.problems).toEqual([]);
});

it('a settlement that fails halfway counts no row that stays', async () => {
  await bench.packets.create(figures('a', 2));
  packetOf(await bench.packets.grab('a', 'u'));
  const { outbox, meta } = bench.keysOf('a');
  const owner = (await bench.raw.hget(meta, 'activity')) ?? '';
  const [[rowId = '', fields = []] = []] = await bench.raw.xrange(outbox, '-', '+');
  const args = { rowId, owner, user: fields[3] ?? '', grant: fields[5] ?? '' };
  // After a failover another row may have the id.
  expect(await bench.registry.run(settlePayout, { keys: { outbox, meta }, args: { ...args, user: 'v' } })).toBe(false);
  await bench.raw.hset(meta, 'settledRows', 'x');
  await expect(bench.registry.run(settlePayout, { keys: { outbox, meta }, args })).rejects.toThrow('BADMETA');
  expect(await bench.raw.xlen(outbox)).toBe(1);
  await bench.raw.hdel(meta, 'settledRows');
  expect(await bench.registry.run(settlePayout, { keys: { outbox, meta }, args })).toBe(true);
  await paidUp();
});
