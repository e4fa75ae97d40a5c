import type { ScheduleOptions } from 'luanest/delayed-task';
import { Gate } from '../../../test/support/gate';
import { eventually, sleep } from '../../../test/support/wait';
import { IN_LINE } from '../src/delayed-task.scripts';
import { deferTasks, sweepTasks, takeTasks } from '../src/worker/worker.scripts';
import { inventory, openBench, redisNow, servers, takeCall, type Bench } from './support';
import { few } from '../../../test/support/few';

const HOUR = 3_600_000;

/** Checks that each task in line is in `lines`, and that its group has a head, which is due no later. */
async function problemsOf(bench: Bench): Promise<string[]> {
  const problems = [...(await inventory(bench)).problems];
  for (const { due, lines, heads } of bench.partitions) {
    const [rows, members, headOf] = await Promise.all([
      bench.raw.zrange(due, '0', '-1', 'WITHSCORES'),
      bench.raw.zrange(lines, '0', '-1'),
      bench.raw.hgetall(heads),
    ]);
    const score = new Map<string, number>();
    for (let i = 0; i < rows.length; i += 2) score.set(rows[i] as string, Number(rows[i + 1]));
    const inLine = [...score].filter(([, at]) => at >= IN_LINE).map(([id]) => id);
    const ids = members.map((member) => member.split('\n')[2] as string);
    if (inLine.sort().join() !== ids.sort().join()) problems.push(`${inLine.join()} in line, but ${ids.join()} listed`);
    for (const member of members) {
      const [group = '', ms, id = ''] = member.split('\n');
      if ((score.get(id) ?? 0) - IN_LINE !== Number(ms)) problems.push(`${id} is listed with another time`);
      const head = score.get(headOf[group] ?? '');
      if (head === undefined || head >= IN_LINE) problems.push(`${id} waits for a head that is gone`);
    }
    for (const [group, id] of Object.entries(headOf)) {
      if ((score.get(id) ?? IN_LINE) >= IN_LINE) problems.push(`group ${group} has a head that does not wait`);
    }
  }
  return problems;
}

/** Numbers that look random, and are the same in each run. */
function numbersOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Sweeps all partitions, whether the process is a worker or not. */
async function sweepAll({ partitions, registry }: Bench): Promise<void> {
  for (const { due, lines, heads, leased, tasks, runs, dead, waits } of partitions) {
    const args = { retentionMs: HOUR, leaseMs: HOUR, taskCursor: '0', runCursor: '0', count: 256 };
    await registry.run(sweepTasks, { keys: { due, lines, heads, leased, tasks, runs, dead, waits }, args });
  }
}

describe.each(few(servers))('groups on %s', (_, client, partitions) => {
  const benches: Bench[] = [];
  async function open(options = {}): Promise<Bench> {
    const bench = await openBench(client(), { partitions, ...options });
    benches.push(bench);
    return bench;
  }
  afterEach(async () => {
    for (const bench of benches.splice(0)) await bench.close();
  });

  /** Ids of one partition, so that the tasks have an order. */
  function idsOf(bench: Bench, names: readonly string[]): string[] {
    return names.map((name) => {
      for (let i = 0; ; i++) {
        const id = `${name}.${i}`;
        if (bench.partitionOf(id).due === bench.partitions[0]?.due) return id;
      }
    });
  }

  it('take turns', async () => {
    const bench = await open({ concurrency: 1 });
    const { tasks } = bench;
    const order: string[] = [];
    tasks.handle('t', async (__, { id, group }) => {
      order.push(id.split('.')[0] as string);
      expect(group).toBe(id.slice(0, 1));
      // The next turn comes in a later millisecond.
      await sleep(3);
    });
    const names = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'c1'];
    const now = await redisNow(bench.raw);
    await tasks.scheduleMany(
      idsOf(bench, names).map((id, i) => ({ name: 't', id, group: id.slice(0, 1), runAtMs: now - 1_000 + i })),
    );
    expect(await problemsOf(bench)).toEqual([]);
    bench.work();
    await eventually(() => expect(order).toHaveLength(names.length));
    expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4', 'a5']);
    await eventually(async () => expect(await tasks.stats()).toMatchObject({ waiting: 0, running: 0 }));
    const left = bench.partitions.flatMap(({ due, lines, heads }) => [due, lines, heads]);
    expect(await Promise.all(left.map((key) => bench.raw.exists(key)))).toEqual(left.map(() => 0));
  });

  it('of many tasks delays no other group by more than a turn', async () => {
    const bench = await open({ concurrency: 4 });
    const { tasks } = bench;
    const order: string[] = [];
    tasks.handle('t', async (__, { group = '' }) => {
      order.push(group);
      await sleep(1);
    });
    await tasks.scheduleMany(Array.from({ length: 3_000 }, () => ({ name: 't', group: 'big' })));
    bench.work();
    await eventually(() => expect(order.length).toBeGreaterThan(50), { timeoutMs: 30_000 });
    const before = order.length;
    await Promise.all(['small', 'other'].map((group) => tasks.schedule('t', null, { group })));
    await eventually(() => expect(order).toEqual(expect.arrayContaining(['small', 'other'])), { timeoutMs: 30_000 });
    // Each partition may have two takes of four tasks in hand, and the two tasks are scheduled a moment later than `before`.
    expect(Math.max(order.indexOf('small'), order.indexOf('other')) - before).toBeLessThan(200);
    expect(await tasks.cancelAll({ group: 'big' })).toBeGreaterThan(1_000);
    await eventually(async () => expect(await tasks.stats()).toMatchObject({ waiting: 0, running: 0 }));
    expect(await problemsOf(bench)).toEqual([]);
  });

  it('fill all places of a worker while others have no tasks', async () => {
    const bench = await open({ concurrency: 20 });
    const { tasks } = bench;
    const gate = new Gate();
    let running = 0;
    tasks.handle('t', async () => {
      running += 1;
      await gate.pass();
    });
    await tasks.scheduleMany(Array.from({ length: 60 }, () => ({ name: 't', group: 'only' })));
    bench.work();
    await eventually(() => expect(running).toBe(20));
    await eventually(async () => {
      gate.open();
      expect(await tasks.stats()).toMatchObject({ waiting: 0, running: 0 });
    });
    expect(running).toBe(60);
  });

  it('show their tasks in line as waiting, with the time when they are due', async () => {
    const bench = await open({ work: false });
    const { tasks } = bench;
    const now = await redisNow(bench.raw);
    const [first = '', second = '', later = ''] = idsOf(bench, ['f', 's', 'l']);
    const of = (id: string, runAtMs: number): Promise<unknown> => tasks.schedule('t', id, { id, group: 'g', runAtMs });
    await of(first, now - 500);
    await of(second, now - 400);
    await of(later, now + HOUR);
    await tasks.schedule('t', null, { id: 'plain', delayMs: HOUR });
    expect(await tasks.get(second)).toMatchObject({ state: 'waiting', group: 'g', atMs: now - 400 });
    expect(await tasks.get(later)).toMatchObject({ state: 'waiting', group: 'g', atMs: now + HOUR });
    expect(await tasks.get('plain')).toMatchObject({ state: 'waiting', group: undefined });
    const { lateMs, ...stats } = await tasks.stats();
    expect(stats).toEqual({ waiting: 4, overdue: 2, running: 0, dead: 0, paused: false });
    // The first one has its turn since it was scheduled.
    expect(lateMs).toBeGreaterThanOrEqual(400);
    const listed: string[] = [];
    for (let cursor: string | undefined; ;) {
      const page = await tasks.list({
        state: 'waiting',
        group: 'g',
        limit: 1,
        ...(cursor !== undefined && { cursor }),
      });
      for (const { id, atMs, group } of page.items) {
        listed.push(id);
        expect([group, atMs]).toEqual(['g', (await tasks.get(id))?.atMs]);
      }
      cursor = page.nextCursor;
      if (cursor === undefined) break;
    }
    expect(listed).toEqual([first, second, later]);
    expect(await tasks.schedule('t', null, { id: second, group: 'g' })).toEqual({
      id: second,
      status: 'kept',
      runAtMs: now - 400,
    });
    // The first task keeps its turn. The others are in the order of their times.
    const [earlier = ''] = idsOf(bench, ['e']);
    await of(earlier, now - 900);
    const order = (await tasks.list({ state: 'waiting', group: 'g' })).items.map(({ id }) => id);
    expect(order).toEqual([first, earlier, second, later]);
    // A task that is due before a head that is not due yet takes its place.
    const [tomorrow = '', today = ''] = idsOf(bench, ['t', 'd']);
    for (const [id, delayMs] of [
      [tomorrow, 24 * HOUR],
      [today, HOUR],
    ] as const) {
      await tasks.schedule('t', null, { id, group: 'other', delayMs });
    }
    expect(await bench.raw.hget(bench.partitionOf(today).heads, 'other')).toBe(today);
    expect(await problemsOf(bench)).toEqual([]);
  });

  it.each([1, 2, 3])(
    'lose and double no task, whatever is scheduled, moved, replaced and cancelled (%i)',
    async (seed) => {
      const bench = await open({ concurrency: 5, attempts: 3, backoff: { delayMs: 1 } });
      const { tasks } = bench;
      const below = numbersOf(seed);
      const expected = new Map<string, number>();
      for (let step = 0; step < 250; step++) {
        const id = `id${below(60)}`;
        const options: ScheduleOptions = {
          id,
          ...(below(4) > 0 && { group: `g${below(3)}` }),
          delayMs: below(3) === 0 ? HOUR : 0,
        };
        const action = below(6);
        if (action < 3) {
          const { status } = await tasks.schedule('t', step, { ...options, onConflict: below(2) ? 'keep' : 'replace' });
          if (status !== 'kept') expected.set(id, step);
        } else if (action === 3) {
          await tasks.reschedule(id, { delayMs: below(2) * HOUR });
        } else if (action === 4) {
          if ((await tasks.cancel(id)) === 'cancelled') expected.delete(id);
        } else {
          const again = [0, 1, 2].map((i) => ({
            name: 't',
            payload: step + i / 10,
            id: `id${below(60)}`,
            ...(below(2) && { group: `g${below(3)}` }),
          }));
          const results = await tasks.scheduleMany(again, { onConflict: 'replace' });
          for (const [i, result] of results.entries()) expected.set(result.id, again[i]?.payload as number);
        }
        if (step % 25 === 0) expect(await problemsOf(bench)).toEqual([]);
      }
      for (const id of expected.keys()) await tasks.reschedule(id, {});
      expect(await problemsOf(bench)).toEqual([]);
      const done = new Map<string, number>();
      const doubled: string[] = [];
      tasks.handle('t', (payload: number, { id, attempt }) => {
        if (attempt < 3 && payload % 3 === 0) throw new Error('again');
        if (done.has(id)) doubled.push(id);
        done.set(id, payload);
      });
      bench.work();
      await eventually(async () => expect(await tasks.stats()).toMatchObject({ waiting: 0, running: 0, dead: 0 }), {
        timeoutMs: 20_000,
      });
      expect(doubled).toEqual([]);
      expect([...done].sort()).toEqual([...expected].sort());
      expect(await problemsOf(bench)).toEqual([]);
    },
  );

  it.each(['due', 'lines', 'heads'] as const)('go on after a sweep if Redis has lost `%s`', async (lost) => {
    const bench = await open({ concurrency: 3 });
    const { tasks } = bench;
    const done: string[] = [];
    await tasks.scheduleMany(Array.from({ length: 40 }, (__, i) => ({ name: 't', id: `t${i}`, group: `g${i % 2}` })));
    for (const partition of bench.partitions) await bench.raw.del(partition[lost]);
    tasks.handle('t', (__, { id }) => void done.push(id));
    bench.work();
    await eventually(
      async () => {
        await bench.sweep();
        expect(done).toHaveLength(40);
      },
      { timeoutMs: 20_000 },
    );
    expect(new Set(done).size).toBe(40);
    await eventually(async () => expect(await tasks.stats()).toMatchObject({ waiting: 0, running: 0 }));
    expect(await problemsOf(bench)).toEqual([]);
  });

  it('run a task once that a sweep took out of its line', async () => {
    const bench = await open({ concurrency: 10 });
    const { tasks } = bench;
    const [first = '', second = '', third = ''] = idsOf(bench, ['a', 'b', 'c']);
    await tasks.scheduleMany([first, second, third].map((id) => ({ name: 't', id, group: 'g' })));
    await bench.raw.zrem(bench.partitionOf(second).due, second);
    const done: string[] = [];
    tasks.handle('t', (__, { id }) => void done.push(id));
    await sweepAll(bench);
    bench.work();
    await eventually(async () => {
      await sweepAll(bench);
      expect(await tasks.stats()).toMatchObject({ waiting: 0, running: 0 });
    });
    expect(done.sort()).toEqual([first, second, third].sort());
    expect(await problemsOf(bench)).toEqual([]);
  });

  it('take a task in its turn, however old it is', async () => {
    const bench = await open({ concurrency: 1 });
    const { tasks } = bench;
    const order: string[] = [];
    const [a1 = '', a2 = '', a3 = '', b1 = '', old = ''] = idsOf(bench, ['a1', 'a2', 'a3', 'b1', 'aold']);
    const now = await redisNow(bench.raw);
    await tasks.scheduleMany(
      [a1, a2, a3, b1].map((id, i) => ({ name: 't', id, group: id.slice(0, 1), runAtMs: now - 1_000 + i })),
    );
    const gate = new Gate();
    tasks.handle('t', async (__, { id }) => {
      order.push(id);
      await gate.pass();
      await sleep(3);
    });
    bench.work();
    await eventually(() => expect(order).toEqual([a1]));
    await tasks.schedule('t', null, { id: old, group: 'a', runAtMs: 1 });
    expect(await tasks.get(a2)).toMatchObject({ state: 'waiting', atMs: now - 999 });
    expect(await tasks.list({ state: 'waiting', group: 'a' })).toMatchObject({
      items: expect.arrayContaining([expect.objectContaining({ id: a2, atMs: now - 999 })]) as unknown,
    });
    await eventually(() => {
      gate.open();
      expect(order).toHaveLength(5);
    });
    expect(order).toEqual([a1, b1, a2, old, a3]);
  });

  it('are cancelled as a whole', async () => {
    const { tasks } = await open({ work: false });
    await tasks.scheduleMany(Array.from({ length: 700 }, () => ({ name: 't', group: 'g' })));
    await tasks.schedule('t', null, { id: 'other' });
    expect(await tasks.cancelAll({ group: 'g' })).toBe(700);
    expect(await tasks.stats()).toMatchObject({ waiting: 1 });
  });

  it('run a task neither early nor twice that was moved after Redis had lost `due`', async () => {
    const bench = await open({ concurrency: 10 });
    const { tasks } = bench;
    const [first = '', second = '', third = ''] = idsOf(bench, ['a', 'b', 'c']);
    await tasks.scheduleMany([first, second, third].map((id) => ({ name: 't', id, group: 'g' })));
    await bench.raw.del(bench.partitionOf(first).due);
    await sweepAll(bench);
    await tasks.reschedule(second, { delayMs: HOUR });
    await tasks.reschedule(third, {});
    const done: string[] = [];
    tasks.handle('t', (__, { id }) => void done.push(id));
    bench.work();
    await eventually(async () => {
      await sweepAll(bench);
      expect(await tasks.stats()).toMatchObject({ waiting: 1, overdue: 0, running: 0 });
    });
    expect(done.sort()).toEqual([first, third].sort());
  });

  it('show a task that was handed back with the time when it is due again', async () => {
    const bench = await open({ work: false });
    const { tasks, registry } = bench;
    const now = await redisNow(bench.raw);
    await tasks.schedule('t', null, { id: 'b', group: 'g', runAtMs: now - HOUR });
    const keys = bench.partitionOf('b');
    await registry.run(takeTasks, takeCall(keys, 'w', { token: 'w', limit: 1, leaseMs: HOUR }));
    const args = { longestMs: HOUR, share: 1_000, error: 'unknown', pairs: ['b', 'w'] };
    expect(await registry.run(deferTasks, { keys, args })).toEqual([1]);
    const atMs = Number(await bench.raw.zscore(keys.due, 'b'));
    expect(atMs).toBeGreaterThan(now);
    expect(await tasks.get('b')).toMatchObject({ state: 'waiting', atMs });
    expect((await tasks.list({ state: 'waiting' })).items).toMatchObject([{ id: 'b', atMs }]);
  });

  it('take turns again when their dead letters are replayed', async () => {
    const bench = await open({ concurrency: 1, attempts: 1 });
    const { tasks } = bench;
    let broken = true;
    const order: string[] = [];
    const late: number[] = [];
    tasks.handle('t', async (__, { group = '', lateMs }) => {
      if (broken) throw new Error('broken');
      late.push(lateMs);
      order.push(group);
      await sleep(3);
    });
    const ids = idsOf(bench, ['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'b1']);
    const runAtMs = (await redisNow(bench.raw)) - HOUR;
    await tasks.scheduleMany(ids.map((id) => ({ name: 't', id, group: id.slice(0, 1), runAtMs })));
    bench.work();
    await eventually(async () => expect((await tasks.stats()).dead).toBe(7));
    broken = false;
    await tasks.pause();
    expect(await tasks.replayAll()).toBe(7);
    expect(await problemsOf(bench)).toEqual([]);
    await tasks.resume();
    await eventually(() => expect(order).toHaveLength(7));
    expect(order.indexOf('b')).toBeLessThan(3);
    expect(Math.max(...late)).toBeLessThan(HOUR / 2);
  });

  it.each([
    ['', '1 to 128 characters'],
    ['a\nb', 'without control characters'],
    ['x'.repeat(129), '1 to 128 characters'],
    [7, 'Write numbers as text'],
  ])('refuse the name %j', async (group, message) => {
    const { tasks } = await open({ work: false });
    await expect(tasks.schedule('t', null, { group: group as string })).rejects.toThrow(message);
    await expect(tasks.scheduleMany([{ name: 't', group: group as string }])).rejects.toThrow(message);
    await expect(tasks.list({ state: 'waiting', group: group as string })).rejects.toThrow(message);
    await expect(tasks.cancelAll({ group: group as string })).rejects.toThrow(message);
  });
});
