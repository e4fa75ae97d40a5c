import { eventually } from '../../../test/support/wait';
import { Gate } from '../../../test/support/gate';
import { group, openBench, servers, type Bench } from './support';

const standalone = servers[0]?.[1] as (typeof servers)[0][1];

describe('ordered messages of a busy key', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(standalone(), { watchEveryMs: 100, drainMs: 0, abortGraceMs: 0 });
  });
  afterAll(() => bench.close());

  it('hold up no other key, however many of them wait', async () => {
    const gate = new Gate();
    const seen: string[] = [];
    const terms = group('hot', 'g', { ordered: true });
    const handle = await bench.streams.handle<string>(terms, async ({ key = '', payload }) => {
      if (payload === 'hot 0') await gate.pass();
      seen.push(payload);
      expect(payload.startsWith(key)).toBe(true);
    });
    const hot = Array.from({ length: 1_000 }, (_, i) => ({ payload: `hot ${i}`, key: 'hot' }));
    await bench.streams.publishMany('hot', hot);
    await bench.streams.publishMany(
      'hot',
      Array.from({ length: 20 }, (_, i) => ({ payload: `cold ${i}`, key: `cold ${i}` })),
    );
    await eventually(() => expect(seen).toHaveLength(20), { timeoutMs: 20_000 });
    expect(await bench.streams.stats('hot', 'g')).toMatchObject({ parked: 999, lag: 0 });
    gate.open();
    await eventually(async () => expect(await handle.stats()).toMatchObject({ length: 0, pending: 0, parked: 0 }), {
      timeoutMs: 120_000,
    });
    expect(seen.slice(20)).toEqual(hot.map(({ payload }) => payload));
    await handle.stop();
  }, 180_000);

  it('go on after somebody else trims the stream, or deletes some of them', async () => {
    const gate = new Gate();
    const seen: number[] = [];
    const { stream, heads, tries } = bench.keys('trimmed', 'g');
    const terms = group('trimmed', 'g', { ordered: true, concurrency: 2, attempts: 10_000 });
    const handle = await bench.streams.handle<number>(terms, async ({ payload }) => {
      if (payload === -1) await gate.pass();
      if (payload < 100) throw new Error('again');
      seen.push(payload);
    });
    await bench.streams.publish('trimmed', -1, { key: 'held' });
    await bench.streams.publishMany(
      'trimmed',
      Array.from({ length: 100 }, (_, payload) => ({ payload, key: payload % 2 === 0 ? 'held' : 'fails' })),
    );
    await eventually(async () => expect(await handle.stats()).toMatchObject({ lag: 0, parked: 99 }));
    await bench.raw.xtrim(stream, 'MAXLEN', 0);
    expect(await handle.stats()).toMatchObject({ length: 0, lag: 0 });
    await bench.streams.publishMany(
      'trimmed',
      [100, 101, 102].map((payload) => ({ payload, key: 'held' })),
    );
    await eventually(async () => {
      const { pending, parked } = await handle.stats();
      expect([pending, parked]).toEqual([3, 2]);
    });
    const second = (await bench.raw.xrange(stream, '-', '+'))[1]?.[0] as string;
    await bench.raw.xdel(stream, second);
    gate.open();
    await eventually(() => expect(seen).toEqual([100, 102]));
    await eventually(async () => {
      expect(await handle.stats()).toMatchObject({ length: 0, pending: 0, parked: 0, due: 0, lag: 0 });
      expect([await bench.raw.exists(heads), await bench.raw.exists(tries)]).toEqual([0, 0]);
    });
    await handle.stop();
  });

  it('stats count what is unread, also when some of it was trimmed or deleted', async () => {
    const { stream } = bench.keys('counts', 'g');
    const gate = new Gate();
    const handle = await bench.streams.handle(group('counts', 'g', { concurrency: 2 }), () => gate.pass());
    await bench.streams.publishMany(
      'counts',
      Array.from({ length: 30 }, (_, payload) => ({ payload })),
    );
    await eventually(async () => expect(await handle.stats()).toMatchObject({ length: 30, lag: 28 }));
    await bench.raw.xtrim(stream, 'MAXLEN', 10);
    expect(await handle.stats()).toMatchObject({ length: 10, lag: 10 });
    const fifth = (await bench.raw.xrange(stream, '-', '+'))[4]?.[0] as string;
    await bench.raw.xdel(stream, fifth);
    expect(await handle.stats()).toMatchObject({ length: 9, lag: 9 });
    await handle.stop();
  });

  it('run one after the other, also when a handler outlives its time', async () => {
    const gate = new Gate();
    let running = 0;
    let most = 0;
    const seen: string[] = [];
    const terms = group('slow', 'g', { ordered: true, timeoutMs: 50, attempts: 3, concurrency: 4 });
    const handle = await bench.streams.handle<string>(terms, async ({ payload, attempt }) => {
      running += 1;
      most = Math.max(most, running);
      if (payload === 'slow' && attempt === 1) await gate.pass();
      running -= 1;
      seen.push(`${payload} ${attempt}`);
    });
    await bench.streams.publishMany(
      'slow',
      ['slow', 'next', 'last'].map((payload) => ({ payload, key: 'k' })),
    );
    await bench.streams.publish('slow', 'other', { key: 'other' });
    await eventually(() => expect(seen).toEqual(['other 1']));
    await eventually(async () => expect(await handle.stats()).toMatchObject({ pending: 3, due: 1 }));
    const { stream, tries } = bench.keys('slow', 'g');
    const [slow] = (await bench.raw.xrange(stream, '-', '+', 'COUNT', 1))[0] as [string, string[]];
    await eventually(async () => expect(await bench.raw.hget(tries, slow)).toMatch(/^1\.\d+ \d+ handed back$/));
    most = running;
    // The retry is due after 20 ms at most; it is put back for as long as the first attempt runs.
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect([running, most, gate.entered]).toEqual([1, 1, 1]);
    gate.open();
    await eventually(() => expect(seen).toEqual(['other 1', 'slow 1', 'slow 2', 'next 1', 'last 1']));
    expect(most).toBe(1);
    await handle.stop();
  });
});
