import { Redis } from 'ioredis';
import { startRedis } from 'luanest/testing/servers';
import { openBench, servers, type Bench } from '../../once/test/support';
import type { Section } from '../src/console.types';
import { onceSection } from '../src/sections/once';
import { act, allRows, factsOf, sectionOf } from './section-support';

describe.each(servers)('the section of idempotency on %s', (_, connect) => {
  let bench: Bench;
  let section: Section;
  const story = (list: string, id: string) => factsOf(section, ['once', list, id]);

  beforeEach(async () => {
    bench = await openBench(connect());
    section = sectionOf(onceSection, { OnceService: bench.once });
  });
  afterEach(() => bench.close());

  it('shows the state of an id: in progress, done with its result, and free', async () => {
    const claim = await bench.once.claim('order-7');
    expect(await story('claims', 'order-7')).toMatchObject({
      ...{
        state: 'in-progress',
        delivery: 'at-least-once',
        codes: ['once-in-progress'],
        actions: ['release', 'forget'],
      },
    });
    await bench.expire('order-7');
    expect(await story('claims', 'order-7')).toMatchObject({ state: 'lease-ended', codes: ['once-lease-ended'] });
    await bench.once.run('order-8', {}, () => ({ paid: 4711 }));
    expect(await story('claims', 'order-8')).toMatchObject({
      ...{ state: 'done', resultBytes: { bytes: 13 }, result: { payload: { paid: 4711 } } },
      ...{ codes: ['once-done'], actions: ['forget'] },
    });
    expect(claim.status).toBe('claimed');
    await bench.once.claim('order-9', { delivery: 'at-most-once' });
    await bench.expire('order-9');
    expect(await story('claims', 'order-9')).toMatchObject({ state: 'abandoned', codes: ['once-abandoned'] });
    expect(await section.show(['once', 'claims', 'unknown'])).toBeUndefined();
  });

  it('lists ids of each kind, those of a state, and those with a text', async () => {
    for (const id of ['a1', 'a2', 'b1']) await bench.once.claim(id);
    await bench.once.confirm('b1', 'not the token');
    await bench.once.run('a3', {}, () => 1);
    await bench.once.claim({ scope: 'Mails.send', id: 'm1' });
    await bench.once.claim({ subject: 42, key: 'key-1' });
    await bench.once.first('f1');
    const ids = async (list: string, filter?: string) =>
      (await allRows(section, ['once', list], 2, filter))
        .map(({ id, of }) =>
          [of, id]
            .filter((part) => part !== null)
            .map(String)
            .join(' '),
        )
        .sort();
    expect(await ids('claims')).toEqual(['a1', 'a2', 'a3', 'b1']);
    expect(await ids('claims', 'done')).toEqual(['a3']);
    expect(await ids('claims', 'id:a')).toEqual(['a1', 'a2', 'a3']);
    expect(await ids('handlers')).toEqual(['Mails.send m1']);
    expect(await ids('requests', 'in-progress')).toEqual(['42 key-1']);
    expect(await ids('firsts')).toEqual(['f1']);
    await expect(section.list(['once', 'others'], { limit: 1 })).rejects.toThrow('nothing at "once/others"');
  });

  it('finds the requests of all users by their key', async () => {
    await bench.once.claim({ subject: 'u1', key: 'key-1' });
    await bench.once.claim({ subject: 'u2', key: 'key-1' });
    await bench.once.claim({ subject: 'u3', key: 'key-10' });
    await bench.once.claim('key-1');
    await bench.once.first('key-1');
    const found = await section.find('key-1');
    expect(found.map(({ kind, title }) => `${kind} ${title}`).sort()).toEqual([
      ...['once-claim key-1', 'once-first key-1', 'once-request key-1', 'once-request key-1'],
    ]);
    const [request] = found.filter(({ kind }) => kind === 'once-request');
    expect(await factsOf(section, request?.address ?? [])).toMatchObject({
      subject: expect.stringMatching(/^u[12]$/) as string,
    });
    expect(await section.find('*')).toEqual([]);
  });

  it('releases a claim for the next caller, and only that which was seen', async () => {
    const address = ['once', 'claims', 'order-7'];
    const first = await bench.once.claim('order-7');
    const { expected } = await section.preview('release', { address }, {});
    expect(await section.run('release', { address }, {}, undefined)).toMatchObject({
      refused: { code: 'once-needs-fence' },
    });
    expect(await section.run('release', { address }, {}, expected)).toEqual({ count: 1 });
    expect(await story('claims', 'order-7')).toMatchObject({ state: 'released', codes: ['once-released'] });
    expect(await (first.status === 'claimed' ? first.confirm(1) : undefined)).toEqual({ status: 'lost' });
    expect(await bench.once.claim('order-7')).toMatchObject({ status: 'claimed' });
    expect(await section.run('release', { address }, {}, expected)).toMatchObject({
      refused: { code: 'once-changed' },
    });
    expect(await bench.once.peek('order-7')).toMatchObject({ status: 'in-progress' });
  });

  it('forgets an id, so that the work runs again', async () => {
    const address = ['once', 'claims', 'order-7'];
    await bench.once.run('order-7', {}, () => 1);
    expect(await section.preview('release', { address }, {})).toMatchObject({
      count: 0,
      sentence: { code: 'once-done' },
    });
    expect(await act(section, 'forget', address)).toEqual({ count: 1 });
    expect(await section.preview('forget', { address }, {})).toMatchObject({
      count: 0,
      sentence: { code: 'once-gone' },
    });
    expect(await section.run('forget', { address }, {}, '0'.repeat(16))).toMatchObject({
      refused: { code: 'once-gone' },
    });
    expect(await bench.once.run('order-7', {}, () => 2)).toMatchObject({ status: 'ran', result: 2 });
    await bench.once.first('f');
    expect(await act(section, 'forget', ['once', 'firsts', 'f'])).toEqual({ count: 1 });
    expect(await bench.once.first('f')).toBe(true);
    await expect(act(section, 'burn', address)).rejects.toThrow('no action "burn"');
    await expect(section.preview('forget', { list: ['once', 'claims'] }, {})).rejects.toThrow('is for one thing');
  });
});

it('finds a request among many other keys, and says when it did not search all', async () => {
  await using server = await startRedis();
  const client = new Redis(server.port);
  const bench = await openBench(client);
  const section = sectionOf(onceSection, { OnceService: bench.once });
  const fill = (from: number, to: number) =>
    client.mset(Array.from({ length: to - from }, (_, i) => [`other:${from + i}`, '1']).flat());
  await fill(0, 20_000);
  await bench.once.claim({ subject: 'u1', key: 'rare' });
  expect((await section.find('rare')).map(({ address }) => address.slice(0, 2))).toEqual([['once', 'requests']]);
  for (let from = 20_000; from < 300_000; from += 20_000) await fill(from, from + 20_000);
  const partly = (await section.find('missing')).map(({ address, sentence }) => [address, sentence?.code]);
  expect(partly).toContainEqual([['once', 'requests'], 'once-searched-in-part']);
  bench.close();
});
