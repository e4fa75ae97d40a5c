import type { TaskContext } from 'luanest/delayed-task';
import { Gate } from '../../../test/support/gate';
import { eventually, sleep } from '../../../test/support/wait';
import { openBench, servers, type Bench } from './support';
import { few } from '../../../test/support/few';

describe.each(few(servers))('the progress of a task on %s', (_, client, partitions) => {
  const benches: Bench[] = [];
  async function open(options = {}, prefix?: string): Promise<Bench> {
    const all = { partitions, attempts: 2, backoff: { delayMs: 1 }, ...options };
    const bench = await openBench(client(), all, prefix === undefined ? {} : { prefix });
    benches.push(bench);
    return bench;
  }
  afterEach(async () => {
    for (const bench of benches.splice(0)) await bench.close();
  });

  it('is seen in any process while the task runs, and with its result', async () => {
    const bench = await open({ timeoutMs: 50_000 });
    const other = await open({ work: false }, bench.prefix);
    const gate = new Gate();
    bench.tasks.handle('t', async (__, task) => {
      await task.reportProgress(1);
      await gate.pass();
      await task.reportProgress({ rows: 7, note: 'ä b' });
      await gate.pass();
      return 'the result';
    });
    bench.work();
    await bench.tasks.schedule('t', null, { id: 'a', keepResultMs: 40_000 });
    await eventually(() => expect(gate.entered).toBe(1));
    expect(await other.tasks.get('a')).toMatchObject({ state: 'running', progress: 1 });
    gate.open();
    await eventually(() => expect(gate.entered).toBe(2));
    expect(await other.tasks.get('a')).toMatchObject({ state: 'running', progress: { rows: 7, note: 'ä b' } });
    const { progress } = bench.partitionOf('a');
    const ttlMs = await bench.raw.pttl(progress('a'));
    expect([ttlMs > 50_000, ttlMs <= 90_000]).toEqual([true, true]);
    gate.open();
    const done = { state: 'done', result: 'the result', progress: { rows: 7, note: 'ä b' } };
    expect(await other.tasks.waitFor('a')).toMatchObject(done);
    // A new task of the id has none.
    await other.tasks.schedule('none', null, { id: 'a' });
    expect((await other.tasks.get('a'))?.progress).toBeUndefined();
  });

  it('is that of the last attempt', async () => {
    const bench = await open();
    const gate = new Gate();
    bench.tasks.handle('t', async (__, task) => {
      if (task.attempt === 1) {
        await task.reportProgress('first');
        throw new Error('again');
      }
      await gate.pass();
      await task.reportProgress(null);
      throw new Error('dead');
    });
    bench.work();
    await bench.tasks.schedule('t', null, { id: 'a' });
    await eventually(() => expect(gate.entered).toBe(1));
    expect((await bench.tasks.get('a'))?.progress).toBeUndefined();
    gate.open();
    expect(await bench.tasks.waitFor('a')).toMatchObject({ state: 'dead', progress: null });
    expect((await bench.tasks.list({ state: 'dead' })).items).toMatchObject([{ id: 'a', progress: undefined }]);
  });

  it('is refused if it is too large, is not JSON, or the lease is lost', async () => {
    const bench = await open();
    const gate = new Gate();
    let context: TaskContext | undefined;
    bench.tasks.handle('t', async (__, task) => {
      context = task;
      await gate.pass();
    });
    bench.work();
    await bench.tasks.schedule('t', null, { id: 'a' });
    await eventually(() => expect(gate.entered).toBe(1));
    const report = async (value: unknown): Promise<void> => context?.reportProgress(value);
    await report('x'.repeat(4_094));
    await expect(report('x'.repeat(4_095))).rejects.toMatchObject({
      code: 'TASK_TOO_LARGE',
      message: 'The progress of the task has 4097 bytes as JSON. At most 4096 bytes are allowed.',
    });
    await expect(report(undefined)).rejects.toThrow('The progress of the task is undefined');
    await bench.tasks.cancel('a', { evenRunning: true });
    await bench.tasks.schedule('other', null, { id: 'a' });
    await expect(report(1)).rejects.toMatchObject({ code: 'LOST' });
    expect((await bench.tasks.get('a'))?.progress).toBeUndefined();
    gate.open();
    await bench.tasks.cancel('a');
  });

  it('is waited for without keeping the process from ending', async () => {
    const bench = await open({ work: false });
    await bench.tasks.schedule('t', null, { id: 'a', delayMs: 3_600_000 });
    // Without those that were unreferenced. Calls to Redis have timers, too, so the median counts.
    const timers = async (): Promise<number> => {
      const seen: number[] = [];
      for (let at = 0; at < 21; at++) {
        await sleep(10);
        seen.push(process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length);
      }
      return seen.sort((one, other) => one - other)[10] as number;
    };
    const before = await timers();
    const [seen, task] = await Promise.all([timers(), bench.tasks.waitFor('a', { timeoutMs: 500 })]);
    // Another timer may have ended meanwhile.
    expect(seen).toBeLessThanOrEqual(before);
    expect(task).toMatchObject({ state: 'waiting' });
  });
});
