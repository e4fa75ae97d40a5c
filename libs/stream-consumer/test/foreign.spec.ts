import { InvalidKeyError, InvalidOptionError } from 'luanest/script-registry';
import { InvalidStreamInputError, type StreamMessage } from 'luanest/stream-consumer';
import { eventually } from '../../../test/support/wait';
import { keysOf } from '../../read-reward/test/support';
import { group, openBench, servers, type Bench } from './support';

describe.each(servers)('streams that another program writes, on %s', (_, client) => {
  let bench: Bench;
  let count = 0;
  beforeAll(async () => {
    bench = await openBench(client(), { leaseMs: 300, watchEveryMs: 100 });
  });
  afterAll(() => bench.close());

  const fresh = (name = ''): { readonly name: string; readonly key: string } => {
    count += 1;
    return { name: `rows-${count}`, key: `${bench.prefix}:orders:{eu %7B ${count}}:outbox${name}` };
  };
  const empty = (stream: string): Promise<void> =>
    eventually(async () =>
      expect(await bench.streams.stats(stream, 'g')).toMatchObject({ length: 0, pending: 0, due: 0 }),
    );

  it('gives an entry as the object of its fields, and deletes it when it is handled', async () => {
    const { name, key } = fresh();
    const fields = {
      user: 'Zoë "{x}" \\ \u0000\u001f\n/',
      cents: '9007199254740993',
      group: 'admins',
      ['__proto__']: 'p',
    };
    await bench.raw.xadd(key, '*', ...Object.entries(fields).flat());
    await bench.raw.xadd(key, '*', 'payload', '{"as":"json"}', 'key', 'k');
    bench.streams.defineStream(name, { keys: [key] });
    const seen: StreamMessage[] = [];
    const handle = await bench.streams.consume(group(name, 'g'), (message) => void seen.push(message));
    await empty(name);
    expect(JSON.stringify(seen[0]?.payload)).toBe(JSON.stringify(JSON.parse(JSON.stringify(fields))));
    expect(seen[1]).toMatchObject({ payload: { as: 'json' }, key: 'k', operationId: undefined });
    expect(await bench.raw.exists(key)).toBe(1);
    await handle.stop();
  });

  it('reads several keys as partitions, and keeps two streams of one tag apart', async () => {
    const { name, key } = fresh(':a');
    const other = key.replace(/a$/, 'b');
    const elsewhere = fresh().key;
    bench.streams.defineStream(name, { keys: [key, elsewhere] });
    bench.streams.defineStream(`${name}-other`, { keys: [other] });
    const seen: Record<string, unknown[]> = { [name]: [], [`${name}-other`]: [] };
    for (const [i, each] of [key, elsewhere, other].entries()) await bench.raw.xadd(each, '*', 'n', i);
    const handles = await Promise.all(
      Object.entries(seen).map(([stream, list]) =>
        bench.streams.consume(group(stream, 'g'), ({ id, payload }) => void list.push([id.split(':')[0], payload])),
      ),
    );
    await eventually(() => {
      expect(seen[name]?.sort()).toEqual([
        ['0', { n: '0' }],
        ['1', { n: '1' }],
      ]);
      expect(seen[`${name}-other`]).toEqual([['0', { n: '2' }]]);
    });
    await Promise.all(handles.map((handle) => handle.stop()));
  });

  it('never makes the stream: consumers wait for it, and go on when it was deleted and comes again', async () => {
    const { name, key } = fresh();
    bench.streams.defineStream(name, { keys: [key] });
    const seen: unknown[] = [];
    const handle = await bench.streams.consume(group(name, 'g'), ({ payload }) => void seen.push(payload));
    expect(await handle.stats()).toMatchObject({ length: 0, lag: 0 });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await bench.raw.exists(key)).toBe(0);
    for (const n of ['1', '2']) {
      await bench.raw.xadd(key, '*', 'n', n);
      await eventually(() => expect(seen).toContainEqual({ n }));
      await empty(name);
      await bench.raw.del(key);
    }
    await handle.stop();
    expect(await bench.raw.exists(key)).toBe(0);
  });

  it.each([false, true])('what is noted of a stream expires with it (ordered: %s)', async (ordered) => {
    const { name, key } = fresh();
    const expiresAt = Date.now() + 60_000;
    for (let n = 0; n < 20; n++) await bench.raw.xadd(key, '*', 'n', n, 'key', `k${n % 3}`);
    await bench.raw.pexpireat(key, expiresAt);
    bench.streams.defineStream(name, { keys: [key] });
    // Retries, dead letters, a consumer whose lease ends while it holds messages, parked ones: all that is ever noted.
    const options = group(name, 'g', { attempts: 2, ordered, concurrency: 8 });
    const handle = await bench.streams.consume(options, ({ payload }) => {
      if (Number((payload as { n: string }).n) % 2 === 0) throw new Error('no');
    });
    const tag = /\{.*\}/.exec(key)?.[0] ?? '';
    const noted = async (): Promise<string[]> =>
      (await keysOf(bench.raw, bench.prefix)).filter((each) => each.includes(tag) && !each.includes(':waiters:'));
    await eventually(async () => {
      for (const each of await noted()) expect([each, await bench.raw.pexpiretime(each)]).toEqual([each, expiresAt]);
      expect(await handle.stats()).toMatchObject({ length: 0, pending: 0, dead: 10 });
    });
    await handle.stop();
    expect((await noted()).some((each) => each.includes(':dead:'))).toBe(true);
    for (const each of await noted()) expect(await bench.raw.pexpiretime(each)).toBe(expiresAt);
  });

  it('dead letters keep their fields, and are replayed as they were, for their group', async () => {
    const { name, key } = fresh();
    await bench.raw.xadd(key, '*', 'user', 'u', 'error', 'a field of its own');
    bench.streams.defineStream(name, { keys: [key] });
    let fails = true;
    const seen: unknown[] = [];
    const handle = await bench.streams.consume(group(name, 'g', { attempts: 1 }), ({ payload }) => {
      if (fails) throw new Error('not yet');
      seen.push(payload);
    });
    await eventually(async () => expect(await handle.stats()).toMatchObject({ dead: 1, length: 0 }));
    const { items } = await bench.streams.deadLetters(name, 'g');
    expect(items).toMatchObject([
      { payload: { user: 'u', error: 'a field of its own' }, error: 'Error: not yet', attempts: 1 },
    ]);
    fails = false;
    expect(await bench.streams.replay(name, 'g', 'all')).toBe(1);
    await empty(name);
    expect(seen).toEqual([{ user: 'u', error: 'a field of its own' }]);
    await handle.stop();
  });

  it('a replay does not make a stream that has expired', async () => {
    const { name, key } = fresh();
    await bench.raw.xadd(key, '*', 'n', 1);
    await bench.raw.pexpire(key, 60_000);
    bench.streams.defineStream(name, { keys: [key] });
    const handle = await bench.streams.consume(group(name, 'g', { attempts: 1 }), () => {
      throw new Error('never');
    });
    await eventually(async () => expect(await handle.stats()).toMatchObject({ dead: 1 }));
    await handle.stop();
    await bench.raw.del(key);
    expect(await bench.streams.replay(name, 'g', 'all')).toBe(0);
    expect(await bench.raw.exists(key)).toBe(0);
    expect((await bench.streams.deadLetters(name, 'g')).items).toHaveLength(1);
  });

  it('refuses what cannot work, before anything is sent', async () => {
    const { streams } = bench;
    const { name, key } = fresh();
    expect(() => streams.defineStream(name, { keys: ['a{b'] })).toThrow(InvalidKeyError);
    expect(() => streams.defineStream(name, { keys: ['{}:a'] })).toThrow(/Give it a tag/);
    expect(() => streams.defineStream(name, { keys: [key, key] })).toThrow(/no two alike/);
    expect(() => streams.defineStream(name, { keys: [key], partitions: 2 })).toThrow(/Leave one of them out/);
    expect(() => streams.defineStream('a b', { keys: [key] })).toThrow(InvalidOptionError);
    streams.defineStream(name, { keys: [key] });
    streams.defineStream(name, { keys: [key] });
    expect(() => streams.defineStream(name, { keys: [`${key}2`] })).toThrow(/in use with other options/);
    await expect(streams.publish(name, 1)).rejects.toThrow(InvalidStreamInputError);
    const handle = await streams.consume(group(name, 'g'), () => undefined);
    expect(() => streams.forgetStream(name)).toThrow(/Stop its consumers first/);
    await handle.stop();
    streams.forgetStream(name);
    streams.defineStream(name, { keys: [`${key}2`] });
    streams.forgetStream(name);
  });
});
