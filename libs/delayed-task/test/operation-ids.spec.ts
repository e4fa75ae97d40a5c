import { eventually } from '../../../test/support/wait';
import { inventory, openBench, servers, type Bench } from './support';
import { few } from '../../../test/support/few';

const HOUR = 3_600_000;

describe.each(few(servers))('an operationId on %s', (_, client, partitions) => {
  const benches: Bench[] = [];
  async function open(options = {}): Promise<Bench> {
    const bench = await openBench(client(), { partitions, ...options });
    benches.push(bench);
    return bench;
  }
  afterEach(async () => {
    for (const bench of benches.splice(0)) await bench.close();
  });

  it.each([{}, { group: 'g' }])('schedules a task once, also if it is done meanwhile (%j)', async (more) => {
    const bench = await open();
    const ran: unknown[] = [];
    bench.tasks.handle('t', (payload) => void ran.push(payload));
    bench.work();
    const first = await bench.tasks.schedule('t', 1, { operationId: 'order-7', ...more });
    expect(first).toMatchObject({ id: 'order-7', status: 'scheduled' });
    await eventually(async () => expect(await bench.tasks.get('order-7')).toBeUndefined());
    expect(await bench.tasks.schedule('t', 2, { operationId: 'order-7', ...more })).toEqual(first);
    await Promise.all([3, 4, 5].map((n) => bench.tasks.schedule('t', n, { operationId: 'order-7', ...more })));
    expect(ran).toEqual([1]);
    expect(await inventory(bench)).toEqual({ due: [], leased: [], dead: [], problems: [] });
    // Another id is another operation.
    expect(await bench.tasks.schedule('t', 6, { operationId: 'order-7', id: 'other', ...more })).toMatchObject({
      id: 'other',
      status: 'scheduled',
    });
    await eventually(() => expect(ran).toEqual([1, 6]));
  });

  it.each([
    [{}, {}],
    [{}, { group: 'g' }],
    [{ group: 'g' }, {}],
    [{ group: 'g' }, { group: 'g' }],
  ])('returns the first result to a call with another time (%j, then %j)', async (first, second) => {
    const { tasks } = await open({ work: false });
    const result = await tasks.schedule('t', 1, { operationId: 'o', delayMs: HOUR, ...first });
    await tasks.cancel('o');
    expect(await tasks.schedule('t', 1, { operationId: 'o', delayMs: 2 * HOUR, ...second })).toEqual(result);
    const runAtMs = result.runAtMs + 5;
    expect(await tasks.schedule('t', 1, { operationId: 'o', runAtMs, ...second })).toEqual(result);
    expect(await tasks.get('o')).toBeUndefined();
  });

  it('returns the first result of a task that replaced another, also to a call with another time', async () => {
    const { tasks } = await open({ work: false });
    await tasks.schedule('t', 1, { id: 'a', delayMs: HOUR });
    const other = { id: 'a', operationId: 'x', onConflict: 'replace' } as const;
    const first = await tasks.schedule('t', 2, { ...other, delayMs: 2 * HOUR });
    expect(first.status).toBe('replaced');
    expect(await tasks.schedule('t', 2, { ...other, delayMs: 3 * HOUR })).toEqual(first);
  });

  it('returns the first result of a task that was kept, too', async () => {
    const { tasks } = await open({ work: false });
    const { runAtMs } = await tasks.schedule('t', 1, { id: 'a', delayMs: HOUR });
    const kept = { id: 'a', status: 'kept', runAtMs };
    expect(await tasks.schedule('t', 2, { id: 'a', operationId: 'x' })).toEqual(kept);
    expect(await tasks.schedule('t', 2, { id: 'a', operationId: 'x' })).toEqual(kept);
    await tasks.cancel('a');
    expect(await tasks.schedule('t', 2, { id: 'a', operationId: 'x' })).toMatchObject({ status: 'kept' });
    expect(await tasks.get('a')).toBeUndefined();
  });

  it('is forgotten after operationRetentionMs', async () => {
    const bench = await open({ work: false, operationRetentionMs: 1_000 });
    const one = { operationId: 'short', delayMs: HOUR };
    await bench.tasks.schedule('t', 1, one);
    expect(await bench.raw.pttl(bench.partitionOf('short').operation(':5:shortshort'))).toBeLessThanOrEqual(1_000);
    await bench.tasks.cancel('short');
    await eventually(async () => {
      await bench.tasks.schedule('t', 2, one);
      expect(await bench.tasks.get('short')).toMatchObject({ payload: 2 });
    });
  });

  it.each([{}, { group: 'g' }])('is kept as long as the call asks for (%j)', async (more) => {
    const bench = await open({ work: false, operationRetentionMs: 1_000 });
    await bench.tasks.schedule('t', 1, { operationId: 'long', operationRetentionMs: HOUR, delayMs: HOUR, ...more });
    const left = await bench.raw.pttl(bench.partitionOf('long').operation(':4:longlong'));
    expect(left).toBeGreaterThan(HOUR / 2);
    await bench.tasks.schedule('t', 1, { operationId: 'own', delayMs: HOUR, ...more });
    expect(await bench.raw.pttl(bench.partitionOf('own').operation(':3:ownown'))).toBeLessThanOrEqual(1_000);
    const refused = (options: object) => expect(bench.tasks.schedule('t', 1, options)).rejects;
    await refused({ operationRetentionMs: HOUR }).toThrow('operationRetentionMs is set without operationId');
    await refused({ operationId: 'o', operationRetentionMs: 999 }).toThrow('operationRetentionMs is 999');
  });

  it.each([
    ['', 'operationId is ""'],
    ['x'.repeat(257), '1 to 256 characters'],
    [7, 'Write numbers as text'],
  ])('refuses %j', async (operationId, message) => {
    const { tasks } = await open({ work: false });
    await expect(tasks.schedule('t', 1, { id: 'a', operationId: operationId as string })).rejects.toThrow(message);
    expect(await tasks.get('a')).toBeUndefined();
  });

  it('belongs to a call of schedule', async () => {
    const { tasks } = await open({ work: false });
    const many = [{ name: 't', operationId: 'x' }];
    await expect(tasks.scheduleMany(many)).rejects.toThrow(
      'tasks[0] has operationId, which scheduleMany does not support. Call schedule for this task.',
    );
  });
});
