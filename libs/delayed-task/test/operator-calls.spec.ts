import { Gate } from '../../../test/support/gate';
import { eventually, sleep } from '../../../test/support/wait';
import { openBench, servers, type Bench } from './support';
import { few } from '../../../test/support/few';

const HOUR = 3_600_000;

describe.each(few(servers))('calls of operators and callers on %s', (_, client, partitions) => {
  const benches: Bench[] = [];
  async function open(options = {}): Promise<Bench> {
    const bench = await openBench(client(), { partitions, ...options });
    benches.push(bench);
    return bench;
  }
  afterEach(async () => {
    for (const bench of benches.splice(0)) await bench.close();
  });

  it('waitFor returns the result of a task when it is done', async () => {
    const bench = await open();
    const { tasks } = bench;
    const gate = new Gate();
    tasks.handle('sum', async (payload: number[]) => {
      await gate.pass();
      return payload.reduce((sum, n) => sum + n, 0);
    });
    bench.work();
    const { id } = await tasks.schedule('sum', [1, 2, 3], { keepResultMs: 60_000 });
    const waiting = tasks.waitFor(id);
    await eventually(() => expect(gate.entered).toBe(1));
    expect(await tasks.waitFor(id, { timeoutMs: 0 })).toMatchObject({ id, state: 'running' });
    gate.open();
    expect(await waiting).toMatchObject({ id, state: 'done', result: 6 });
  });

  it('waitFor ends with a dead letter, a task that is gone, and the time', async () => {
    const bench = await open({ attempts: 1 });
    const { tasks } = bench;
    tasks.handle('broken', () => {
      throw new Error('no');
    });
    tasks.handle('quick', () => 7);
    bench.work();
    const broken = await tasks.schedule('broken');
    expect(await tasks.waitFor(broken.id)).toMatchObject({ state: 'dead', error: 'Error: no' });
    const quick = await tasks.schedule('quick');
    expect(await tasks.waitFor(quick.id)).toBeUndefined();
    expect(await tasks.waitFor('never there')).toBeUndefined();
    const later = await tasks.schedule('quick', null, { delayMs: HOUR });
    expect(await tasks.waitFor(later.id, { timeoutMs: 30 })).toMatchObject({ state: 'waiting' });
    const cancelled = tasks.waitFor(later.id);
    expect(await tasks.cancel(later.id)).toBe('cancelled');
    expect(await cancelled).toBeUndefined();
    await expect(tasks.waitFor('x', { timeoutMs: -1 })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });

  it('cancelAll removes the waiting tasks of a name, or all', async () => {
    const bench = await open();
    const { tasks } = bench;
    const gate = new Gate();
    tasks.handle('held', () => gate.pass());
    bench.work();
    await tasks.schedule('held');
    await eventually(() => expect(gate.entered).toBe(1));
    const some = Array.from({ length: 300 }, (__, i) => ({ name: i % 3 === 0 ? 'mail' : 'bill', delayMs: HOUR + i }));
    await tasks.scheduleMany(some);
    expect(await tasks.cancelAll({ name: 'mail' })).toBe(100);
    expect(await tasks.cancelAll({ name: 'none' })).toBe(0);
    expect(await tasks.stats()).toMatchObject({ waiting: 200, running: 1 });
    expect(await tasks.cancelAll()).toBe(200);
    expect(await tasks.stats()).toMatchObject({ waiting: 0, running: 1 });
    await expect(tasks.cancelAll({ names: 'x' } as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    gate.open();
  });

  it('start() makes a process a worker', async () => {
    const bench = await open({ work: false });
    const { tasks } = bench;
    const ran: number[] = [];
    tasks.handle('t', (payload) => void ran.push(payload as number));
    bench.work();
    await tasks.schedule('t', 1);
    await sleep(100);
    expect(ran).toEqual([]);
    tasks.start();
    tasks.start();
    await eventually(() => expect(ran).toEqual([1]));
    await bench.close();
    tasks.start();
  });
});
