import { deadLetter, type StreamMessage } from 'luanest/stream-consumer';
import { size } from '../../../test/support/size';
import { Gate } from '../../../test/support/gate';
import { eventually, sleep } from '../../../test/support/wait';
import { define, group, openBench, servers, type Bench } from './support';
import { few } from '../../../test/support/few';

describe.each(few(servers))('messages of one key on %s', (_, client) => {
  const options = { partitions: 3, drainMs: 0, abortGraceMs: 0 };
  let one: Bench;
  let two: Bench;
  beforeAll(async () => {
    one = await openBench(client(), { ...options, watchEveryMs: 100 });
    two = await openBench(client(), options, { prefix: one.prefix });
    for (const { streams } of [one, two]) define(streams, { name: 'single', partitions: 1 });
  });
  afterAll(() => Promise.all([one.close(), two.close()]));

  async function settled(stream: string): Promise<void> {
    await eventually(
      async () => {
        expect(await one.streams.stats(stream, 'g')).toMatchObject({ length: 0, pending: 0, due: 0, parked: 0 });
      },
      // Messages of one key are handled one after the other.
      { timeoutMs: 60_000 },
    );
  }

  it('run in order and one at a time, in two processes and through retries', async () => {
    const keys = ['a', 'b', 'c', 'd', 'e', 'f\u00e9'];
    const count = size(10, 40);
    const seen = new Map<string, number[]>(keys.map((key) => [key, []]));
    const running = new Set<string>();
    let overlaps = 0;
    const work = async ({ key = '', payload, attempt }: StreamMessage<number>): Promise<void> => {
      if (running.has(key)) overlaps += 1;
      running.add(key);
      await sleep(Math.random() * 3);
      running.delete(key);
      if (payload % 10 === 3 && attempt < 3) throw new Error('again');
      seen.get(key)?.push(payload);
    };
    const terms = group('ordered', 'g', { ordered: true, concurrency: 8 });
    await one.streams.handle(terms, work);
    await two.streams.handle(terms, work);
    for (let i = 0; i < count; i++)
      await one.streams.publishMany(
        'ordered',
        keys.map((key) => ({ payload: i, key })),
      );
    await settled('ordered');
    expect(overlaps).toBe(0);
    const inOrder = Array.from({ length: count }, (__, i) => i);
    for (const key of keys) expect([key, seen.get(key)]).toEqual([key, inOrder]);
    const { heads, tries } = one.keys('ordered', 'g');
    expect(await one.raw.exists(heads)).toBe(0);
    expect(await one.raw.exists(tries)).toBe(0);
  });

  it('do not hold up those of others, nor those without one', async () => {
    const gate = new Gate();
    const seen: string[] = [];
    const handle = await one.streams.handle<string>(
      group('single', 'g', { ordered: true, concurrency: 4 }),
      async ({ payload }) => {
        if (payload === 'slow 0') await gate.pass();
        seen.push(payload);
      },
    );
    const slow = Array.from({ length: 200 }, (__, i) => ({ payload: `slow ${i}`, key: 'slow' }));
    await one.streams.publishMany('single', [...slow, { payload: 'other', key: 'other' }, { payload: 'free' }]);
    await eventually(() => expect([...seen].sort()).toEqual(['free', 'other']));
    expect(await one.streams.stats('single', 'g')).toMatchObject({ parked: 199 });
    gate.open();
    await settled('single');
    expect(seen.filter((text) => text.startsWith('slow'))).toEqual(slow.map(({ payload }) => payload));
    await handle.stop();
  });

  it('a dead letter lets the next one go, and so does a consumer that dies', async () => {
    const seen: string[] = [];
    const victim = await openBench(client(), options, { prefix: one.prefix });
    const gate = new Gate();
    const terms = group('dies', 'g', { ordered: true, leaseMs: 600_000 });
    await victim.streams.handle(terms, () => gate.pass());
    await one.streams.publishMany('dies', [
      { payload: 'dead', key: 'k' },
      { payload: 'next', key: 'k' },
      { payload: 'last', key: 'k' },
    ]);
    await eventually(() => expect(gate.entered).toBe(1));
    victim.registry.close();
    // As the passing of its time would.
    for (let partition = 0; partition < 3; partition++) {
      const { sessions } = one.keys('dies', 'g', partition);
      for (const name of await one.raw.zrange(sessions, '0', '-1')) await one.raw.zadd(sessions, 'XX', '1', name);
    }
    await two.streams.handle<string>(terms, ({ payload, attempt }) => {
      seen.push(`${payload} ${attempt}`);
      return payload === 'dead' ? deadLetter('no') : undefined;
    });
    await settled('dies');
    expect(seen).toEqual(['dead 2', 'next 1', 'last 1']);
    gate.open();
    await victim.close();
  });

  it('are all handled when what keeps their order is lost', async () => {
    const gate = new Gate();
    const seen: number[] = [];
    await one.streams.handle<number>(group('lost', 'g', { ordered: true }), async ({ payload }) => {
      if (payload === 0) await gate.pass();
      seen.push(payload);
    });
    await one.streams.publishMany(
      'lost',
      Array.from({ length: 20 }, (__, payload) => ({ payload, key: 'k' })),
    );
    await eventually(async () => expect(await one.streams.stats('lost', 'g')).toMatchObject({ parked: 19 }));
    for (let partition = 0; partition < 3; partition++) {
      await one.raw.del(one.keys('lost', 'g', partition).heads);
    }
    gate.open();
    await settled('lost');
    expect([...seen].sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (__, i) => i));
  });
});
