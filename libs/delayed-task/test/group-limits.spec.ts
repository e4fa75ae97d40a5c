import { performance } from 'node:perf_hooks';
import type { DelayedTaskModuleOptions } from 'luanest/delayed-task';
import { Gate } from '../../../test/support/gate';
import { eventually, sleep } from '../../../test/support/wait';
import { takeTasks } from '../src/worker/worker.scripts';
import { inventory, NO_LIMITS, openBench, redisNow, servers, takeCall, type Bench } from './support';
import { few } from '../../../test/support/few';

const HOUR = 3_600_000;
/** Groups whose names are prefixes of each other, or have characters that patterns use. */
const GROUPS = ['a', 'a\u0020', 'ab', '*', 'g@1', '租户'];

describe.each(few(servers))('limits of groups on %s', (_, client, partitions) => {
  const benches: Bench[] = [];
  async function open(options: DelayedTaskModuleOptions = {}, prefix?: string): Promise<Bench> {
    const all = { partitions, backoff: { delayMs: 1 }, ...options };
    const bench = await openBench(client(), all, prefix === undefined ? {} : { prefix });
    benches.push(bench);
    return bench;
  }
  afterEach(async () => {
    for (const bench of benches.splice(0)) await bench.close();
  });

  /** Ids of the first partition, which has a share of each limit. */
  function idsOf(bench: Bench, count: number): string[] {
    const all = Array.from({ length: 100 * count * partitions }, (__, i) => `t${i}`);
    return all.filter((id) => bench.partitionOf(id).due === bench.partitions[0]?.due).slice(0, count);
  }
  const ended = (bench: Bench) =>
    eventually(async () => expect(await bench.tasks.stats()).toMatchObject({ waiting: 0, running: 0 }), {
      timeoutMs: 30_000,
    });
  /** Expects that nothing is left of the groups but what `hold` allows. */
  async function expectNothingLeft({ partitions: all, raw }: Bench): Promise<void> {
    const keys = all.flatMap(({ due, lines, heads, leased, places }) => [due, lines, heads, leased, places]);
    await eventually(async () => {
      expect(await Promise.all(keys.map((key) => raw.exists(key)))).toEqual(keys.map(() => 0));
    });
  }

  /** Handles tasks in several processes, and notes how many of a group run at the same time in all of them. */
  class Watch {
    readonly running = new Map<string, number>();
    readonly most = new Map<string, number>();
    readonly done: string[] = [];

    begin(group = ''): void {
      const now = (this.running.get(group) ?? 0) + 1;
      this.running.set(group, now);
      this.most.set(group, Math.max(now, this.most.get(group) ?? 0));
    }

    end(group = '', id?: string): void {
      this.running.set(group, (this.running.get(group) as number) - 1);
      if (id !== undefined) this.done.push(id);
    }
  }

  it('never run more than `concurrency` of a group in all processes, and all tasks end', async () => {
    const groupLimits = { concurrency: 2 * partitions };
    const first = await open({ groupLimits, concurrency: 30, attempts: 4 });
    const workers = [first, await open({ groupLimits, concurrency: 30, attempts: 4 }, first.prefix)];
    const watch = new Watch();
    const tries = new Map<string, number>();
    for (const { tasks } of workers) {
      tasks.handle('t', async (__, { group, id }) => {
        watch.begin(group);
        try {
          await sleep(1 + 15 * Math.random());
          const count = (tries.get(id) ?? 0) + 1;
          tries.set(id, count);
          if (Number(id.slice(1)) % 5 === 0 && count < 3) throw new Error('again');
          watch.done.push(id);
        } finally {
          watch.end(group);
        }
      });
    }
    const ids = Array.from({ length: 240 }, (__, i) => `t${i}`);
    const all = ids.map((id, i) => ({ name: 't', id, group: GROUPS[i % GROUPS.length] as string }));
    await first.tasks.scheduleMany([...all, ...Array.from({ length: 40 }, (__, i) => ({ name: 't', id: `p${i}1` }))]);
    for (const worker of workers) worker.work();
    await sleep(100);
    if (partitions === 1) await first.raw.script('FLUSH');
    await ended(first);
    expect(watch.done).toHaveLength(280);
    expect(new Set(watch.done).size).toBe(280);
    // The handler ends a moment before Redis knows it, so this counts no more than the leases.
    for (const group of GROUPS) expect(watch.most.get(group)).toBeLessThanOrEqual(groupLimits.concurrency);
    expect(Math.max(...GROUPS.map((group) => watch.most.get(group) as number))).toBeGreaterThan(1);
    await expectNothingLeft(first);
    expect((await inventory(first)).problems).toEqual([]);
  });

  it('start the next task of a full group when one ends, and leave the other groups alone', async () => {
    const bench = await open({ groupLimits: { concurrency: partitions }, concurrency: 20, leaseMs: HOUR });
    const { tasks } = bench;
    const [a1 = '', a2 = '', a3 = '', b1 = '', plain = ''] = idsOf(bench, 5);
    const gates = new Map([a1, a2, a3, b1, plain].map((id) => [id, new Gate()]));
    const began: string[] = [];
    tasks.handle('t', async (__, { id }) => {
      began.push(id);
      await gates.get(id)?.pass();
    });
    bench.work();
    await tasks.scheduleMany([a1, a2, a3].map((id) => ({ name: 't', id, group: 'a' })));
    await eventually(() => expect(began).toEqual([a1]));
    await tasks.schedule('t', null, { id: b1, group: 'b' });
    await tasks.schedule('t', null, { id: plain });
    await eventually(() => expect(began).toEqual([a1, b1, plain]));
    expect(await tasks.get(a2)).toMatchObject({ state: 'waiting' });
    const { items } = await tasks.list({ state: 'waiting', group: 'a' });
    expect(items.map(({ id }) => id)).toEqual([a2, a3]);
    // Without the end of a task, workers look again after a second.
    await sleep(1_200);
    expect(began).toEqual([a1, b1, plain]);
    gates.get(a1)?.open();
    await eventually(() => expect(began).toEqual([a1, b1, plain, a2]));
    expect(await tasks.cancel(a3)).toBe('cancelled');
    for (const gate of gates.values()) gate.open();
    await ended(bench);
    await expectNothingLeft(bench);
  });

  it('are looked at when the end of a task is reported, and else after a second', async () => {
    const bench = await open({ groupLimits: { concurrency: partitions } });
    const [keys] = bench.partitions as [Bench['partitions'][0]];
    const [first = '', second = ''] = idsOf(bench, 2);
    const now = await redisNow(bench.raw);
    await bench.tasks.scheduleMany(
      [first, second].map((id, i) => ({ name: 't', id, group: 'g', runAtMs: now + i - 9 })),
    );
    const take = async (token: string, ended: string[] = []) => {
      const { keys: all, args } = takeCall(keys, 'w', { token, limit: 5, leaseMs: HOUR });
      const { tasks, ...reply } = await bench.registry.run(takeTasks, {
        keys: all,
        args: { ...args, groupMost: 1, ended },
      });
      return { ids: tasks.map(({ id }) => id), waitMs: reply.nextAt - reply.now };
    };
    expect(await take('a')).toEqual({ ids: [first], waitMs: 1_000 });
    // It has not ended.
    expect((await take('b', [`g\n${first}`])).ids).toEqual([]);
    expect(await bench.raw.zrange(keys.places, '0', '-1')).toEqual([`g\n${first}`]);
    await bench.tasks.cancel(first, { evenRunning: true });
    expect((await take('c')).ids).toEqual([]);
    expect(await take('d', [`g\n${first}`, 'none\nnone'])).toMatchObject({ ids: [second] });
    expect(await bench.raw.zrange(keys.places, '0', '-1')).toEqual([`g\n${second}`]);
    await bench.tasks.cancel(second, { evenRunning: true });

    const run = jest.spyOn(bench.registry, 'run');
    bench.tasks.handle('t', () => undefined);
    bench.work();
    await bench.tasks.schedule('t', null, { id: first, group: 'g' });
    await eventually(() => {
      const reported = run.mock.calls.map(([, call]) => (call.args as { ended?: readonly string[] }).ended ?? []);
      expect(reported.flat()).toEqual([`g\n${first}`]);
    });
    await expectNothingLeft(bench);
  });

  it('hand a place on that a task gives up by a cancel, a replacement or a failure', async () => {
    const bench = await open({ groupLimits: { concurrency: partitions }, attempts: 2, backoff: { delayMs: 20 } });
    const { tasks } = bench;
    const ids = idsOf(bench, 6);
    const [first = '', second = '', third = '', fourth = ''] = ids;
    const began: string[] = [];
    tasks.handle('t', async (what: string, { id, signal }) => {
      began.push(`${id} ${what}`);
      if (what === 'fails') throw new Error('it fails');
      if (what === 'waits') await new Promise((resolve) => signal.addEventListener('abort', resolve));
    });
    const payloads = ['waits', 'waits', 'fails', 'returns'];
    await tasks.scheduleMany(
      payloads.map((payload, i) => ({ name: 't', id: ids[i] as string, payload, group: 'g', runAtMs: i + 1 })),
    );
    bench.work();
    await eventually(() => expect(began).toEqual([`${first} waits`]));
    expect(await tasks.cancel(first, { evenRunning: true })).toBe('cancelled');
    await eventually(() => expect(began).toEqual([`${first} waits`, `${second} waits`]));
    await tasks.schedule('t', 'replaced', { id: second, group: 'g', onConflict: 'replace', delayMs: 0 });
    await eventually(async () => expect(await tasks.stats()).toMatchObject({ waiting: 0, running: 0, dead: 1 }));
    expect(began.filter((what) => what.startsWith(third))).toHaveLength(2);
    expect(began).toEqual(expect.arrayContaining([`${second} replaced`, `${fourth} returns`]));
    await expectNothingLeft(bench);
  });

  it('count a task of a worker that died until its lease ends, and then once', async () => {
    const concurrency = 2 * partitions;
    const bench = await open({ groupLimits: { concurrency }, leaseMs: 1_000, concurrency: 10 });
    const [keys] = bench.partitions as [Bench['partitions'][0]];
    const ids = idsOf(bench, 6);
    await bench.tasks.scheduleMany(ids.map((id) => ({ name: 't', id, group: 'g' })));
    const take = async (token: string, limits = {}) => {
      const call = takeCall(keys, 'died', { token, limit: 5, leaseMs: 1_500 });
      const { tasks } = await bench.registry.run(takeTasks, {
        ...call,
        args: { ...call.args, groupMost: 2, ...limits },
      });
      return tasks.map(({ id }) => id);
    };
    const taken = await take('died');
    expect(taken).toHaveLength(2);
    // The reply was lost.
    expect(await take('died')).toEqual(taken);
    expect(await bench.raw.zcard(keys.places)).toBe(2);
    expect(await take('other')).toEqual([]);
    const watch = new Watch();
    bench.tasks.handle('t', async (__, { group, id }) => {
      watch.begin(group);
      await sleep(20);
      watch.end(group, id);
    });
    bench.work();
    await sleep(500);
    expect(watch.done).toEqual([]);
    await ended(bench);
    expect(watch.done.sort()).toEqual(ids.sort());
    expect(watch.most.get('g')).toBeLessThanOrEqual(2);
    await expectNothingLeft(bench);
  });

  it('forget the tasks that nobody reported, also of groups that nobody looks at', async () => {
    const bench = await open({ groupLimits: { concurrency: 3 * partitions } });
    const [keys] = bench.partitions as [Bench['partitions'][0]];
    await bench.raw.zadd(keys.places, ...['x\ngone1', 'x\ngone2', 'y\ngone', 'g\ngone'].flatMap((id) => ['0', id]));
    bench.tasks.handle('t', () => undefined);
    bench.work();
    const [id = ''] = idsOf(bench, 1);
    await eventually(async () => {
      await bench.tasks.schedule('t', null, { id, group: 'g' });
      expect(await bench.raw.zcard(keys.places)).toBe(0);
    });
    await ended(bench);
    await eventually(async () => expect(await bench.raw.zcard(keys.places)).toBe(0));
  });

  it('let `rate.limit` tasks of a group start at once, and then one in each share of the window', async () => {
    const rate = { limit: 3 * partitions, windowMs: 900 };
    const bench = await open({ groupLimits: { rate }, concurrency: 50 });
    const ids = idsOf(bench, 16);
    const starts = new Map<string, number[]>([
      ['a', []],
      ['b', []],
    ]);
    const began = performance.now();
    bench.tasks.handle('t', (__, { group = '' }) => void starts.get(group)?.push(performance.now() - began));
    await bench.tasks.scheduleMany(ids.map((id, i) => ({ name: 't', id, group: i % 2 === 0 ? 'a' : 'b' })));
    const takes: unknown[] = [];
    const { registry } = bench;
    const run = registry.run.bind(registry);
    jest.spyOn(registry, 'run').mockImplementation((script: { name: string }, ...rest: unknown[]) => {
      if (script.name.endsWith('take')) takes.push(rest);
      return (run as (...all: unknown[]) => Promise<never>)(script, ...rest);
    });
    bench.work();
    await ended(bench);
    for (const times of starts.values()) {
      expect(times).toHaveLength(8);
      for (const [i, ms] of times.entries()) expect(i + 1).toBeLessThanOrEqual(3 + ms / 300);
      // Those that may start at once do so.
      expect((times[2] as number) - (times[0] as number)).toBeLessThan(300);
    }
    // Nothing looks for tasks that may not start yet.
    expect(takes.length).toBeLessThan(60 + 10 * partitions);
    const [{ rates, places }] = bench.partitions as [Bench['partitions'][0]];
    expect(await bench.raw.exists(places)).toBe(0);
    expect(await bench.raw.pttl(rates)).toBeGreaterThan(0);
  });

  it('count retries, and hold a retry without making others wait', async () => {
    const bench = await open({ groupLimits: { rate: { limit: partitions, windowMs: HOUR } }, attempts: 3 });
    const [failing = '', free = ''] = idsOf(bench, 2);
    let attempts = 0;
    const done: string[] = [];
    bench.tasks.handle('fails', () => {
      attempts += 1;
      throw new Error('again');
    });
    bench.tasks.handle('t', (__, { id }) => void done.push(id));
    bench.work();
    await bench.tasks.schedule('fails', null, { id: failing, group: 'g' });
    await eventually(async () => {
      const task = await bench.tasks.get(failing);
      expect(task).toMatchObject({ state: 'waiting', attemptsMade: 1 });
      expect(await bench.raw.hget(bench.partitionOf(failing).heads, 'g\n')).not.toBeNull();
    });
    await bench.tasks.schedule('t', null, { id: free, group: 'other' });
    await eventually(() => expect(done).toEqual([free]));
    expect(attempts).toBe(1);
    // A held task can be moved, replaced and cancelled as any other that waits.
    expect(await bench.tasks.reschedule(failing, {})).toMatchObject({ status: 'rescheduled' });
    expect(await bench.tasks.schedule('t', null, { id: failing, group: 'free', onConflict: 'replace' })).toMatchObject({
      status: 'replaced',
    });
    await eventually(() => expect(done).toEqual([free, failing]));
    await ended(bench);
    await expectNothingLeft(bench);
  });

  it('count a start once whose reply was lost, and know a rate whose time is over', async () => {
    const bench = await open({ work: false });
    const [keys] = bench.partitions as [Bench['partitions'][0]];
    const ids = idsOf(bench, 8);
    const now = await redisNow(bench.raw);
    await bench.tasks.scheduleMany(ids.map((id, i) => ({ name: 't', id, group: 'g', runAtMs: now - 1_000 + i })));
    const limits = { ...NO_LIMITS, groupStarts: 3, groupWindowMs: HOUR };
    const take = async (token: string) => {
      const { keys: all, args } = takeCall(keys, 'w', { token, limit: 2, leaseMs: HOUR });
      const reply = await bench.registry.run(takeTasks, { keys: all, args: { ...args, ...limits } });
      return [
        reply.tasks.map(({ id }) => ids.indexOf(id)),
        Math.round((reply.nextAt - reply.now) / (HOUR / 3) + 10) - 10,
      ];
    };
    expect(await take('a')).toEqual([[0, 1], 0]);
    expect(await take('a')).toEqual([[0, 1], 0]);
    expect(await take('b')).toEqual([[2], 1]);
    expect(await take('c')).toEqual([[], 1]);
    // A new task does not take the place of the one that is held.
    const [old = ''] = idsOf(bench, 9).slice(8);
    await bench.tasks.schedule('t', null, { id: old, group: 'g', runAtMs: 1 });
    expect(await take('d')).toEqual([[], 1]);
    expect(await bench.raw.hget(keys.heads, 'g')).toBe(ids[3]);
    // The time is over.
    await bench.raw.zadd(keys.rates, '1', 'g');
    await bench.raw.zadd(keys.rates, '2', 'old');
    await bench.raw.zadd(keys.due, String(await redisNow(bench.raw)), ids[3] as string);
    expect(await take('e')).toEqual([[3, -1], 0]);
    expect(await bench.raw.zrange(keys.rates, '0', '-1')).toEqual(['g']);
  });

  it('do not start a task of a paused group, in any process, until it is resumed', async () => {
    const bench = await open({ concurrency: 20 });
    const other = await open({ concurrency: 20 }, bench.prefix);
    const [running = '', ...ids] = idsOf(bench, 7);
    const [second = '', retried = '', cancelled = ''] = ids;
    const gate = new Gate();
    const began: string[] = [];
    for (const { tasks } of [bench, other]) {
      tasks.handle('t', (__, { id }) => void began.push(id));
      tasks.handle('waits', async (__, { id, attempt }) => {
        began.push(`${id} ${attempt}`);
        await gate.pass();
        if (attempt === 1) throw new Error('again');
      });
    }
    bench.work();
    other.work();
    await bench.tasks.schedule('waits', null, { id: running, group: 'g' });
    await eventually(() => expect(gate.entered).toBe(1));
    await other.tasks.pause({ group: 'g' });
    await other.tasks.pause({ group: 'g' });
    await bench.tasks.scheduleMany(ids.map((id) => ({ name: 't', id, group: 'g' })));
    await bench.tasks.scheduleMany(['x', 'y'].map((id) => ({ name: 't', id, group: 'free' })));
    await bench.tasks.schedule('t', null, { id: 'none' });
    await eventually(() => expect(began.slice(1).sort()).toEqual(['none', 'x', 'y']));
    // The task that runs goes on. Its next attempt waits.
    gate.open();
    await eventually(async () => {
      expect(await bench.tasks.get(running)).toMatchObject({ state: 'waiting', attemptsMade: 1 });
      expect((await bench.tasks.list({ state: 'waiting', group: 'g' })).items).toHaveLength(7);
    });
    await sleep(100);
    // Held and waiting tasks of the group can be changed.
    expect(await bench.tasks.cancel(cancelled)).toBe('cancelled');
    expect(await bench.tasks.reschedule(second, {})).toMatchObject({ status: 'rescheduled' });
    expect(await bench.tasks.schedule('t', 1, { id: retried, group: 'g', onConflict: 'replace' })).toMatchObject({
      status: 'replaced',
    });
    for (const id of ids.slice(3, 5)) expect(await bench.tasks.cancel(id)).toBe('cancelled');
    const later = ids[5] as string;
    await bench.tasks.reschedule(later, { delayMs: HOUR });
    await sleep(100);
    expect(began).toHaveLength(4);
    expect(await bench.tasks.stats()).toMatchObject({ waiting: 4, running: 0, paused: false });
    await bench.tasks.resume({ group: 'g' });
    await eventually(() => {
      gate.open();
      expect(began.slice(4).sort()).toEqual([second, retried, `${running} 2`].sort());
    });
    await eventually(async () => expect(await bench.tasks.stats()).toMatchObject({ waiting: 1, running: 0 }));
    // A resume lets no task run early.
    await other.tasks.pause({ group: 'g' });
    await other.tasks.resume({ group: 'g' });
    await sleep(50);
    expect(await bench.tasks.get(later)).toMatchObject({ state: 'waiting' });
    await bench.tasks.cancel(later);
    await expectNothingLeft(bench);
    expect(await Promise.all(bench.partitions.map(({ pauses }) => bench.raw.exists(pauses)))).toEqual(
      bench.partitions.map(() => 0),
    );
  });

  it('keep a pause of a group for processes that come later, and with the other limits', async () => {
    const idle = await open({ work: false });
    await idle.tasks.pause({ group: 'g' });
    const groupLimits = { concurrency: partitions, rate: { limit: 1_000, windowMs: 1_000 } };
    const bench = await open({ groupLimits }, idle.prefix);
    const began: (string | undefined)[] = [];
    bench.tasks.handle('t', (__, { group }) => void began.push(group));
    await idle.tasks.scheduleMany(['g', 'other', 'g'].map((group) => ({ name: 't', group })));
    bench.work();
    await eventually(() => expect(began).toEqual(['other']));
    await sleep(1_100);
    expect(began).toEqual(['other']);
    await idle.tasks.resume({ group: 'other' });
    await idle.tasks.resume({ group: 'g' });
    await eventually(() => expect(began).toEqual(['other', 'g', 'g']));
    await expectNothingLeft(bench);
  });

  it('pause and resume a group only with its name', async () => {
    const { tasks } = await open({ work: false });
    await expect(tasks.pause({ group: '' })).rejects.toThrow('group is ""');
    await expect(tasks.resume({ group: 'a\nb' })).rejects.toThrow('group is ');
    await expect(tasks.pause({ groups: ['a'] } as never)).rejects.toThrow('There is no option "groups"');
    await expect(tasks.resume('g' as never)).rejects.toThrow('Known options: group');
    expect(await tasks.stats()).toMatchObject({ paused: false });
  });

  it('are those of each queue', async () => {
    const bench = await open({ concurrency: 50, queues: { slow: { groupLimits: { concurrency: partitions } } } });
    const gate = new Gate();
    const watch = new Watch();
    for (const queue of ['default', 'slow']) {
      bench.tasks.queue(queue).handle('t', async () => {
        watch.begin(queue);
        await gate.pass();
        watch.end(queue);
      });
      await bench.tasks.queue(queue).scheduleMany(Array.from({ length: 40 }, () => ({ name: 't', group: 'g' })));
    }
    bench.work();
    await eventually(() => expect(watch.running.get('default')).toBe(40));
    await sleep(50);
    expect(watch.running.get('slow')).toBeLessThanOrEqual(partitions);
    await eventually(
      async () => {
        gate.open();
        expect(await bench.tasks.queue('slow').stats()).toMatchObject({ waiting: 0, running: 0 });
      },
      { timeoutMs: 20_000 },
    );
    await ended(bench);
  });

  it.each([
    [{}, 'groupLimits has neither concurrency nor rate'],
    [7, 'groupLimits is 7'],
    [{ max: 1 }, 'There is no option "max" in groupLimits. Known: concurrency, rate'],
    [{ concurrency: 0 }, /groupLimits.concurrency is 0. Expected an integer from \d+ to 1000/],
    [{ concurrency: 1_001 }, /groupLimits.concurrency is 1001/],
    [{ rate: { limit: 0, windowMs: 1 } }, /groupLimits.rate.limit is 0. Expected an integer from \d+ to 1000000/],
    [{ rate: { limit: 1_000, windowMs: 0 } }, 'groupLimits.rate.windowMs is 0. Expected an integer from 1 to 86400000'],
  ])('refuse %j', async (groupLimits, message) => {
    await expect(open({ groupLimits: groupLimits as never })).rejects.toThrow(message);
    await expect(open({ queues: { slow: { groupLimits: groupLimits as never } } })).rejects.toThrow(message);
  });
});
