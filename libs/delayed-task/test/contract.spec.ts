import calculateSlot from 'cluster-key-slot';
import { eventually } from '../../../test/support/wait';
import { Gate, inventory, listen, openBench, redisNow, servers, type Bench } from './support';

const HOUR = 3_600_000;

describe.each(servers)('delayed tasks on %s', (name, client, partitions) => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await openBench(client(), { partitions, backoff: { delayMs: 20 } });
  });
  afterEach(async () => {
    await bench.close();
  });

  it('run once, with payload and context, and leave nothing behind', async () => {
    const seen: unknown[] = [];
    bench.tasks.handle('greet', (payload: unknown, { id, name: task, attempt, attempts, runAtMs, lateMs }) => {
      seen.push({ payload, id, task, attempt, attempts });
      expect(lateMs).toBeGreaterThanOrEqual(0);
      expect(runAtMs).toBeGreaterThan(1_600_000_000_000);
    });
    bench.work();
    const payload = { big: '9007199254740993', text: 'ä\n{}"', nothing: null };
    const answer = await bench.tasks.schedule('greet', payload, { id: '365628617880842241', delayMs: 30 });
    expect(answer).toMatchObject({ id: '365628617880842241', status: 'scheduled' });
    await eventually(() => expect(seen).toHaveLength(1));
    expect(seen[0]).toEqual({ payload, id: '365628617880842241', task: 'greet', attempt: 1, attempts: 5 });
    await eventually(async () => expect(await bench.tasks.get('365628617880842241')).toBeUndefined());
    expect(await inventory(bench)).toEqual({ due: [], leased: [], dead: [], problems: [] });
    expect(await bench.tasks.stats()).toEqual({
      waiting: 0,
      overdue: 0,
      running: 0,
      dead: 0,
      lateMs: 0,
      paused: false,
    });
  });

  it('never run early by the clock of Redis, with a delay or an instant', async () => {
    const early: number[] = [];
    let ran = 0;
    bench.tasks.handle('tick', async (_payload, { runAtMs }) => {
      early.push(runAtMs - (await redisNow(bench.raw)));
      ran += 1;
    });
    bench.work();
    const now = await redisNow(bench.raw);
    await bench.tasks.scheduleMany([
      ...Array.from({ length: 50 }, (_, i) => ({ name: 'tick', delayMs: i * 7 })),
      ...Array.from({ length: 50 }, (_, i) => ({ name: 'tick', runAtMs: now + i * 5 })),
      { name: 'tick', runAtMs: now + 100 },
      { name: 'tick', runAtMs: 0 },
      { name: 'tick' },
    ]);
    await eventually(() => expect(ran).toBe(103));
    expect(Math.max(...early)).toBeLessThanOrEqual(0);
  });

  it.each([
    ['keep', 'kept', 'old'],
    ['replace', 'replaced', 'new'],
  ] as const)('an id that is there: %s', async (onConflict, status, payload) => {
    const first = await bench.tasks.schedule('t', 'old', { id: 'a', delayMs: HOUR });
    const again = await bench.tasks.schedule('t', 'new', { id: 'a', delayMs: 2 * HOUR, onConflict });
    expect(again.status).toBe(status);
    if (onConflict === 'replace') expect(again.runAtMs).toBeGreaterThan(first.runAtMs + HOUR / 2);
    else expect(again.runAtMs).toBe(first.runAtMs);
    expect(await bench.tasks.get('a')).toMatchObject({ state: 'waiting', name: 't', payload, atMs: again.runAtMs });
    expect((await inventory(bench)).due).toEqual(['a']);
  });

  it('scheduleMany returns results in the order of the tasks, also for one id twice in a call', async () => {
    const answers = await bench.tasks.scheduleMany([
      { name: 't', id: 'x', payload: 1, delayMs: HOUR },
      { name: 't', payload: 2, delayMs: HOUR },
      { name: 't', id: 'x', payload: 3, delayMs: HOUR },
      { name: 't', id: 'y', payload: 4, delayMs: HOUR },
    ]);
    expect(answers.map(({ status }) => status)).toEqual(['scheduled', 'scheduled', 'kept', 'scheduled']);
    expect(answers[0]?.id).toBe('x');
    expect(answers[1]?.id).toMatch(/^[\w.-]{18,}$/);
    expect((await bench.tasks.get('x'))?.payload).toBe(1);
    const many = Array.from({ length: 1_000 }, (_, i) => ({ name: 't', id: `m${i}`, delayMs: HOUR + i }));
    const all = await bench.tasks.scheduleMany(many);
    expect(all.map(({ id }) => id)).toEqual(many.map(({ id }) => id));
    const found = await inventory(bench);
    expect(found.due).toHaveLength(1_003);
    expect(found.problems).toEqual([]);
    expect(await bench.tasks.scheduleMany([])).toEqual([]);
  });

  it('can be cancelled and rescheduled while they wait', async () => {
    const ran: string[] = [];
    bench.tasks.handle('t', (_payload, { id }) => void ran.push(id));
    bench.work();
    await bench.tasks.scheduleMany(['a', 'b', 'c'].map((id) => ({ name: 't', id, delayMs: HOUR })));
    expect(await bench.tasks.cancel('a')).toBe('cancelled');
    expect(await bench.tasks.cancel('a')).toBe('unknown');
    expect(await bench.tasks.reschedule('a', { delayMs: 1 })).toEqual({ status: 'unknown' });
    expect(await bench.tasks.reschedule('b', { delayMs: 1 })).toMatchObject({ status: 'rescheduled' });
    await eventually(() => expect(ran).toEqual(['b']));
    await eventually(async () => expect((await inventory(bench)).due).toEqual(['c']));
    expect((await inventory(bench)).problems).toEqual([]);
  });

  it('cancel returns `running` for a running task, and removes it with evenRunning', async () => {
    const gate = new Gate();
    const reasons: unknown[] = [];
    bench.tasks.handle('t', async (_payload, task) => {
      await gate.pass();
      reasons.push(task.id);
    });
    bench.work();
    await bench.tasks.schedule('t', null, { id: 'a' });
    await eventually(() => expect(gate.entered).toBe(1));
    expect(await bench.tasks.get('a')).toMatchObject({ state: 'running', attemptsMade: 1 });
    expect(await bench.tasks.cancel('a')).toBe('running');
    expect(await bench.tasks.reschedule('a', { delayMs: 0 })).toEqual({ status: 'running' });
    expect((await bench.tasks.schedule('t', null, { id: 'a' })).status).toBe('kept');
    expect(await bench.tasks.cancel('a', { evenRunning: true })).toBe('cancelled');
    expect(await bench.tasks.get('a')).toBeUndefined();
    gate.open();
    await eventually(() => expect(reasons).toEqual(['a']));
    expect(await inventory(bench)).toEqual({ due: [], leased: [], dead: [], problems: [] });
  });

  it('if a task is replaced while it runs, the old attempt changes nothing and the new task runs', async () => {
    const gate = new Gate();
    const done: unknown[] = [];
    bench.tasks.handle('t', async (payload: unknown) => {
      if (payload === 'old') await gate.pass();
      done.push(payload);
    });
    bench.work();
    await bench.tasks.schedule('t', 'old', { id: 'a' });
    await eventually(() => expect(gate.entered).toBe(1));
    const replaced = await bench.tasks.schedule('t', 'new', { id: 'a', delayMs: HOUR, onConflict: 'replace' });
    expect(replaced.status).toBe('replaced');
    gate.open();
    await eventually(() => expect(done).toEqual(['old']));
    await bench.tasks.reschedule('a', { delayMs: 0 });
    await eventually(() => expect(done).toEqual(['old', 'new']));
    await eventually(async () =>
      expect(await inventory(bench)).toEqual({ due: [], leased: [], dead: [], problems: [] }),
    );
  });

  it('a worker that stood still and lost its task changes nothing, and its signal fires', async () => {
    const settled = listen('attemptSettled');
    const [first, second] = [new Gate(), new Gate()];
    const options = { partitions, leaseMs: HOUR };
    // It has no room for a second task, so it cannot overtake itself.
    const stale = await openBench(client(), { ...options, concurrency: 1 }, { prefix: bench.prefix });
    const other = await openBench(client(), options, { prefix: bench.prefix });
    stale.tasks.handle('t', () => first.pass());
    other.tasks.handle('t', () => second.pass());
    stale.work();
    await bench.tasks.schedule('t', null, { id: 'a' });
    await eventually(() => expect(first.entered).toBe(1));
    other.work();
    // As if its lease had run out unrenewed. Its worker renews it when its subscription is there, which may be only now.
    const { leased, runs } = bench.partitionOf('a');
    const endFirstLease = `
      if string.sub(redis.call('HGET', KEYS[2], 'a'), 1, 2) == '1 ' then redis.call('ZADD', KEYS[1], 'XX', 1, 'a') end`;
    await eventually(async () => {
      await bench.raw.eval(endFirstLease, 2, leased, runs);
      await bench.raw.spublish(bench.partitionOf('a').waits, 'due');
      expect(second.entered).toBe(1);
    });
    expect(await other.tasks.get('a')).toMatchObject({ state: 'running', attemptsMade: 2 });
    first.open();
    await eventually(() => expect(settled.events.map(({ status }) => status)).toEqual(['lost']));
    expect(await other.tasks.get('a')).toMatchObject({ state: 'running', attemptsMade: 2 });
    second.open();
    await eventually(() => expect(settled.events.map(({ status }) => status)).toEqual(['lost', 'done']));
    expect(await other.tasks.get('a')).toBeUndefined();
    settled.stop();
    await stale.close();
    await other.close();
  });

  it('of one process that are due at one time run in the order in which they were scheduled', async () => {
    const narrow = await openBench(client(), { partitions, concurrency: 1 }, { prefix: bench.prefix });
    const runAtMs = (await redisNow(bench.raw)) - 1_000;
    const scheduled: string[] = [];
    for (let i = 0; i < 5; i++) {
      const some = Array.from({ length: 20 }, () => ({ name: 't', runAtMs }));
      scheduled.push(...(await narrow.tasks.scheduleMany(some)).map(({ id }) => id));
      scheduled.push((await narrow.tasks.schedule('t', null, { runAtMs })).id);
    }
    const ran: string[] = [];
    narrow.tasks.handle('t', (__, { id }) => void ran.push(id));
    narrow.work();
    await eventually(() => expect(ran).toHaveLength(scheduled.length));
    const inPartition = (ids: readonly string[], due: string): string[] =>
      ids.filter((id) => bench.partitionOf(id).due === due);
    for (const { due } of bench.partitions) expect(inPartition(ran, due)).toEqual(inPartition(scheduled, due));
    await narrow.close();
  });

  it('keeps a result for keepResultMs', async () => {
    bench.tasks.handle('sum', ({ a, b }: { a: number; b: number }) => Promise.resolve({ sum: a + b }));
    bench.tasks.handle('void', () => undefined);
    bench.work();
    const before = await redisNow(bench.raw);
    await bench.tasks.schedule('sum', { a: 1, b: 2 }, { id: 'kept', keepResultMs: HOUR });
    await bench.tasks.schedule('void', null, { id: 'void', keepResultMs: HOUR });
    await bench.tasks.schedule('sum', { a: 1, b: 2 }, { id: 'not' });
    await eventually(async () =>
      expect(await bench.tasks.get('kept')).toMatchObject({ state: 'done', result: { sum: 3 } }),
    );
    await eventually(async () =>
      expect(await bench.tasks.get('void')).toMatchObject({ state: 'done', result: undefined }),
    );
    await eventually(async () => expect(await bench.tasks.get('not')).toBeUndefined());
    const result = bench.partitionOf('kept').result('kept');
    const expiresAt = await bench.raw.pexpiretime(result);
    expect(expiresAt).toBeGreaterThanOrEqual(before + HOUR);
    expect(expiresAt).toBeLessThanOrEqual((await redisNow(bench.raw)) + HOUR);
    await bench.raw.pexpire(result, 1);
    await eventually(async () => expect(await bench.tasks.get('kept')).toBeUndefined());
    // What is done may be scheduled again.
    expect((await bench.tasks.schedule('void', null, { id: 'void', delayMs: HOUR })).status).toBe('scheduled');
  });

  it('dead letters are listed in pages, replayed with all attempts, and dropped', async () => {
    let fails = true;
    const attempts: number[] = [];
    bench.tasks.handle('t', (_payload, { attempt }) => {
      if (fails) throw new Error('broken ü');
      attempts.push(attempt);
    });
    bench.work();
    const ids = Array.from({ length: 9 }, (_, i) => `d${i}`);
    await bench.tasks.scheduleMany(ids.map((id) => ({ name: 't', id, payload: { id }, attempts: 2 })));
    await eventually(async () => expect((await bench.tasks.stats()).dead).toBe(9));
    expect(await bench.tasks.cancel('d0')).toBe('dead');
    const pages: string[][] = [];
    let cursor: string | undefined;
    do {
      const page = await bench.tasks.deadLetters(cursor === undefined ? { limit: 2 } : { limit: 2, cursor });
      for (const task of page.items) {
        expect(task).toMatchObject({ name: 't', payload: { id: task.id }, attempts: 2, error: 'Error: broken ü' });
        expect(task.firstFailedAtMs).toBeLessThanOrEqual(task.deadAtMs);
        expect(task.firstFailedAtMs).toBeGreaterThan(1_600_000_000_000);
      }
      pages.push(page.items.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(pages.flat().sort()).toEqual(ids);
    fails = false;
    expect(await bench.tasks.replay(['d0', 'nobody', 'd0'])).toBe(1);
    await eventually(() => expect(attempts).toEqual([1]));
    expect(await bench.tasks.drop(['d1', 'nobody'])).toBe(1);
    expect(await bench.tasks.drop(['d1'])).toBe(0);
    expect((await bench.tasks.stats()).dead).toBe(7);
    expect((await bench.tasks.schedule('t', null, { id: 'd2', onConflict: 'replace' })).status).toBe('replaced');
    await eventually(async () => expect((await bench.tasks.stats()).dead).toBe(6));
    await eventually(() => expect(attempts).toEqual([1, 1]));
    await eventually(async () => expect((await inventory(bench)).leased).toEqual([]));
    expect((await inventory(bench)).problems).toEqual([]);
  });

  it('an earlier task wakes a sleeping worker, and polling finds a task whose wake-up was lost', async () => {
    const ran: string[] = [];
    bench.tasks.handle('t', (_payload, { id }) => void ran.push(id));
    bench.work();
    await bench.tasks.schedule('t', null, { id: 'far', delayMs: HOUR });
    await eventually(async () => expect(await bench.raw.exists(bench.partitionOf('far').waits)).toBe(1));
    // Without the mark nobody publishes.
    for (const { waits } of bench.partitions) await bench.raw.del(waits);
    await bench.tasks.schedule('t', null, { id: 'near' });
    await eventually(() => expect(ran).toEqual(['near']));
  });

  it(`${name === 'Cluster' ? 'the partitions are on all nodes' : 'one partition is in one slot'}`, async () => {
    await bench.tasks.scheduleMany(Array.from({ length: 200 }, (_, i) => ({ name: 't', id: `s${i}`, delayMs: HOUR })));
    const sizes = await Promise.all(bench.partitions.map(({ due }) => bench.raw.zcard(due)));
    expect(sizes.reduce((sum, size) => sum + size)).toBe(200);
    expect(Math.min(...sizes)).toBeGreaterThan(0);
    // Each third of the slots is a master's.
    const thirds = bench.partitions.map(({ due }) => Math.floor((calculateSlot(due) * 3) / 16_384));
    if (name === 'Cluster') expect([...new Set(thirds)].sort()).toEqual([0, 1, 2]);
  });
});
