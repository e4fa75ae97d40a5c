import { InvalidInputError } from 'luanest/script-registry';
import { type StreamMessage } from 'luanest/stream-consumer';
import { InvalidOptionError } from '../../internal/src';
import { Gate } from '../../../test/support/gate';
import { eventually } from '../../../test/support/wait';
import { keysOf } from '../../read-reward/test/support';
import { type Bench, define, group, openBench, servers } from './support';
import { few } from '../../../test/support/few';

const DELETES = ['g'];

describe.each(few(servers))('streams that another program writes, on %s', (_, client) => {
  let bench: Bench;
  let count = 0;
  beforeAll(async () => {
    bench = await openBench(client(), { watchEveryMs: 100 });
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
    define(bench.streams, { name, keys: [key], deleteAfter: DELETES });
    const seen: StreamMessage[] = [];
    const handle = await bench.streams.handle(group(name, 'g'), (message) => void seen.push(message));
    await empty(name);
    expect(JSON.stringify(seen[0]?.payload)).toBe(JSON.stringify(JSON.parse(JSON.stringify(fields))));
    expect(seen[1]).toMatchObject({
      payload: { payload: '{"as":"json"}', key: 'k' },
      key: 'k',
      operationId: undefined,
    });
    expect(await bench.raw.exists(key)).toBe(1);
    await handle.stop();
  });

  it('has no lag once all is handled, also if its producer trimmed entries that nobody had read', async () => {
    const { name, key } = fresh();
    define(bench.streams, { name, keys: [key] });
    const first = await bench.streams.handle(group(name, 'g'), () => undefined);
    await bench.raw.xadd(key, '*', 'n', 0);
    await eventually(async () => expect(await bench.streams.stats(name, 'g')).toMatchObject({ lag: 0, pending: 0 }));
    await first.stop();
    for (let n = 1; n <= 30; n++) await bench.raw.xadd(key, 'MAXLEN', 5, '*', 'n', n);
    let seen = 0;
    const second = await bench.streams.handle(group(name, 'g'), () => void (seen += 1));
    await eventually(() => expect(seen).toBe(5));
    await eventually(async () =>
      expect(await bench.streams.stats(name, 'g')).toMatchObject({ length: 5, lag: 0, pending: 0 }),
    );
    await second.stop();
  });

  it('reads several keys as partitions, and keeps two streams of one tag apart', async () => {
    const { name, key } = fresh(':a');
    const other = key.replace(/a$/, 'b');
    const elsewhere = fresh().key;
    define(bench.streams, { name, keys: [key, elsewhere], deleteAfter: DELETES });
    define(bench.streams, { name: `${name}-other`, keys: [other], deleteAfter: DELETES });
    const seen: Record<string, unknown[]> = { [name]: [], [`${name}-other`]: [] };
    for (const [i, each] of [key, elsewhere, other].entries()) await bench.raw.xadd(each, '*', 'n', i);
    const handles = await Promise.all(
      Object.entries(seen).map(([stream, list]) =>
        bench.streams.handle(group(stream, 'g'), ({ id, payload }) => void list.push([id.split(':')[0], payload])),
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
    define(bench.streams, { name, keys: [key], deleteAfter: DELETES });
    const seen: unknown[] = [];
    const handle = await bench.streams.handle(group(name, 'g'), ({ payload }) => void seen.push(payload));
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
    define(bench.streams, { name, keys: [key], deleteAfter: DELETES });
    // Retries, dead letters, a consumer whose lease ends while it holds messages, parked ones: all that is ever noted.
    const options = group(name, 'g', { attempts: 2, ordered, concurrency: 8 });
    const handle = await bench.streams.handle(options, ({ payload }) => {
      if (Number((payload as { n: string }).n) % 2 === 0) throw new Error('no');
    });
    const tag = /\{.*\}/.exec(key)?.[0] ?? '';
    const noted = async (): Promise<string[]> =>
      (await keysOf(bench.raw, bench.prefix)).filter((each) => each.includes(tag) && !each.includes(':woken:'));
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
    define(bench.streams, { name, keys: [key], deleteAfter: DELETES });
    let fails = true;
    const seen: unknown[] = [];
    const handle = await bench.streams.handle(group(name, 'g', { attempts: 1 }), ({ payload }) => {
      if (fails) throw new Error('not yet');
      seen.push(payload);
    });
    await eventually(async () => expect(await handle.stats()).toMatchObject({ dead: 1, length: 0 }));
    const { items } = await bench.streams.deadLetters(name, 'g');
    expect(items).toMatchObject([
      { payload: { user: 'u', error: 'a field of its own' }, error: 'Error: not yet', attemptsMade: 1 },
    ]);
    fails = false;
    expect(await bench.streams.replayAll(name, 'g')).toBe(1);
    await empty(name);
    expect(seen).toEqual([{ user: 'u', error: 'a field of its own' }]);
    await handle.stop();
  });

  it('gives the bytes of fields as they are, also of dead letters and after a replay', async () => {
    const { name, key } = fresh();
    const value = Buffer.from('089601ff00c3e29c93', 'hex');
    const fieldName = Buffer.from('Zoë ✓');
    const fields = [
      'payload',
      'no json',
      '_class',
      'java.lang.String',
      'operation',
      'INSERT',
      'proto',
      value,
      fieldName,
      '',
    ];
    await bench.raw.xadd(key, '*', ...fields);
    define(bench.streams, { name, keys: [key], deleteAfter: DELETES });
    const seen: StreamMessage[] = [];
    const handle = await bench.streams.handle(group(name, 'g', { attempts: 1 }), (message) => {
      seen.push(message);
      if (seen.length === 1) throw new Error('not yet');
    });
    const [letter] = await eventually(async () => {
      const { items } = await bench.streams.deadLetters(name, 'g');
      expect(items).toHaveLength(1);
      return items;
    });
    expect(await bench.streams.replayAll(name, 'g')).toBe(1);
    await empty(name);
    expect(seen).toHaveLength(2);
    const bytes = fields.map((each) => Buffer.from(each));
    for (const each of [...seen, letter]) {
      expect([...(each?.fields ?? [])].flatMap(([field, found]) => [Buffer.from(field), found])).toEqual(bytes);
      expect(each).toMatchObject({
        payload: { payload: 'no json', _class: 'java.lang.String', proto: value.toString(), 'Zoë ✓': '' },
        key: undefined,
        operationId: undefined,
      });
    }
    await handle.stop();
  });

  it.each([3_600, 6_000])('dead letters and replays of an entry of %i fields are whole', async (count) => {
    const { name, key } = fresh();
    const fields = Array.from({ length: count }, (__, i) => [`f${i}`, `v${i}`]);
    await bench.raw.xadd(key, '*', ...fields.flat(), 'key', 'k');
    define(bench.streams, { name, keys: [key], deleteAfter: DELETES });
    const expected = { ...Object.fromEntries(fields), key: 'k' } as unknown;
    const seen: StreamMessage[] = [];
    const handle = await bench.streams.handle(group(name, 'g', { attempts: 1, ordered: true }), (message) => {
      seen.push(message);
      if (seen.length < 3) throw new Error('not yet');
    });
    for (let deaths = 1; deaths <= 2; deaths++) {
      const [letter] = await eventually(async () => {
        const { items } = await bench.streams.deadLetters(name, 'g');
        expect(items).toHaveLength(1);
        expect(seen).toHaveLength(deaths);
        return items;
      });
      expect(letter?.payload).toEqual(expected);
      expect(letter?.key).toBe('k');
      expect(await bench.streams.replayAll(name, 'g')).toBe(1);
    }
    await empty(name);
    expect(seen).toHaveLength(3);
    for (const { payload, key: ofMessage } of seen) {
      expect(payload).toEqual(expected);
      expect(ofMessage).toBe('k');
    }
    await handle.stop();
  });

  it('entries whose keys are not text are handled in their order', async () => {
    const { name, key } = fresh();
    const keys = [
      Buffer.from('ff00', 'hex'),
      Buffer.from('fe01', 'hex'),
      Buffer.from('é'),
      Buffer.from('a\u0000b'),
      '',
    ];
    for (let n = 0; n < 4; n++) for (const each of keys) await bench.raw.xadd(key, '*', 'n', n, 'key', each);
    define(bench.streams, { name, keys: [key], deleteAfter: DELETES });
    const seen = new Map<string | undefined, unknown[]>();
    const gate = new Gate();
    let isHeld = true;
    let [running, most] = [new Map<string | undefined, number>(), 0];
    const handle = await bench.streams.handle(group(name, 'g', { ordered: true }), async (message) => {
      const { key: ofMessage, payload } = message;
      if (ofMessage !== undefined) {
        running = running.set(ofMessage, (running.get(ofMessage) ?? 0) + 1);
        most = Math.max(most, running.get(ofMessage) ?? 0);
      }
      await (isHeld ? gate.pass() : new Promise((resolve) => setImmediate(resolve)));
      seen.set(ofMessage, [...(seen.get(ofMessage) ?? []), (payload as { n: string }).n]);
      if (ofMessage !== undefined) running.set(ofMessage, (running.get(ofMessage) ?? 0) - 1);
    });
    await eventually(async () => expect(await handle.stats()).toMatchObject({ lag: 0, parked: 12 }));
    const consumers = (await bench.raw.callBuffer('XINFO', 'CONSUMERS', key, 'g')) as Buffer[][];
    const parked = consumers
      .map(([, consumer]) => String(consumer))
      .filter((consumer) => consumer.startsWith('parked'));
    expect(parked.sort()).toEqual(['parked %FE%01', 'parked %FF%00', 'parked a%00b', 'parked é']);
    isHeld = false;
    gate.open();
    await empty(name);
    expect([...seen.keys()].sort()).toEqual(['%FE%01', '%FF%00', 'a%00b', 'é', undefined].sort());
    for (const [ofMessage, order] of seen) {
      if (ofMessage !== undefined) expect([ofMessage, order]).toEqual([ofMessage, ['0', '1', '2', '3']]);
    }
    expect(most).toBe(1);
    await handle.stop();
  });

  it('what looks like the fields that this lib writes breaks nothing', async () => {
    const { name, key } = fresh();
    for (const packed of ['', '5', '5:', '3:abc', '99999999999:a', '-1:a1:b', '1:a1:b junk']) {
      await bench.raw.xadd(key, '*', 'luanest:fields', packed);
    }
    await bench.raw.xadd(key, '*', 'n', 'last');
    define(bench.streams, { name, keys: [key], deleteAfter: DELETES });
    const seen: unknown[] = [];
    const handle = await bench.streams.handle(group(name, 'g'), ({ payload }) => void seen.push(payload));
    await empty(name);
    expect(seen).toHaveLength(8);
    expect(seen).toContainEqual({ n: 'last' });
    expect(await bench.streams.stats(name, 'g')).toMatchObject({ dead: 0 });
    await handle.stop();
  });

  it('a replay does not make a stream that has expired', async () => {
    const { name, key } = fresh();
    await bench.raw.xadd(key, '*', 'n', 1);
    await bench.raw.pexpire(key, 60_000);
    define(bench.streams, { name, keys: [key], deleteAfter: DELETES });
    const handle = await bench.streams.handle(group(name, 'g', { attempts: 1 }), () => {
      throw new Error('never');
    });
    await eventually(async () => expect(await handle.stats()).toMatchObject({ dead: 1 }));
    await handle.stop();
    await bench.raw.del(key);
    expect(await bench.streams.replayAll(name, 'g')).toBe(0);
    expect(await bench.raw.exists(key)).toBe(0);
    expect((await bench.streams.deadLetters(name, 'g')).items).toHaveLength(1);
  });

  it('refuses what cannot work, before anything is sent', async () => {
    const { streams } = bench;
    const { name, key } = fresh();
    expect(() => define(streams, { name, keys: ['a{b'] })).toThrow(
      expect.objectContaining({ code: 'INVALID_KEY' }) as Error,
    );
    expect(() => define(streams, { name, keys: ['{}:a'] })).toThrow(/Expected a hash tag/);
    for (const keys of [[], [key, key], [key, 5]]) {
      expect(() => define(streams, { name, keys: keys as string[] })).toThrow(
        /an array of 1 to 1,024 different keys in Redis/,
      );
    }
    expect(() => define(streams, { name, keys: [key], partitions: 2 })).toThrow(/partitions and keys are both set/);
    for (const deleteAfter of ['g', ['g', 'g'], ['a b'], [1]])
      expect(() => define(streams, { name, keys: [key], deleteAfter: deleteAfter as never })).toThrow(/deleteAfter/);
    expect(() => define(streams, { name, deleteAfter: ['g'] })).toThrow(/deleteAfter is set without keys/);
    for (const from of ['first', '1', '18446744073709551616-0', 5])
      await expect(streams.handle(group(name, 'g', { from: from as never }), () => undefined)).rejects.toThrow(
        /^StreamConsumerService\.handle: from is/,
      );
    await expect(streams.handle(group('own', 'g', { from: 'end' }), () => undefined)).rejects.toThrow(
      /stream with the option `keys` or `retain` may set it/,
    );
    expect(() => define(streams, { name: 'a b', keys: [key] })).toThrow(InvalidOptionError);
    define(streams, { name, keys: [key] });
    define(streams, { name, keys: [key] });
    expect(() => define(streams, { name, keys: [`${key}2`] })).toThrow(
      /was used before in this process with other options/,
    );
    await expect(streams.publish(name, 1)).rejects.toThrow(InvalidInputError);
    const handle = await streams.handle(group(name, 'g'), () => undefined);
    expect(() => streams.forgetStream(name)).toThrow(/Await stop\(\) of each of them first/);
    await handle.stop();
    streams.forgetStream(name);
    define(streams, { name, keys: [`${key}2`] });
    streams.forgetStream(name);
  });

  it.each(['1790000000000000001', '18446744073709551000'])(
    'keeps what a slower group has not read, with ids as large as %s',
    async (base) => {
      const { name, key } = fresh();
      define(bench.streams, { name, keys: [key], deleteAfter: DELETES });
      for (let i = 0n; i < 100n; i++) await bench.raw.xadd(key, `${BigInt(base) + i}-0`, 'n', String(i));
      await bench.raw.xgroup('CREATE', key, 'slow', '0');
      await bench.raw.xreadgroup('GROUP', 'slow', 'one', 'COUNT', 1, 'STREAMS', key, '>');
      const handle = await bench.streams.handle(group(name, 'g'), () => undefined);
      await eventually(async () => expect(await handle.stats()).toMatchObject({ lag: 0, pending: 0 }));
      expect(await bench.raw.xlen(key)).toBe(100);
      await handle.stop();
    },
  );

  const read = async (name: string, from?: string): Promise<unknown[]> => {
    const seen: unknown[] = [];
    const handle = await bench.streams.handle(group(name, 'g', from === undefined ? {} : { from }), ({ payload }) => {
      seen.push((payload as { n: string }).n);
    });
    await eventually(async () => expect(await handle.stats()).toMatchObject({ lag: 0, pending: 0 }));
    await handle.stop();
    return seen;
  };

  it('deletes nothing by default, and gives each entry once', async () => {
    const { name, key } = fresh();
    define(bench.streams, { name, keys: [key] });
    for (let n = 0; n < 5; n++) await bench.raw.xadd(key, '*', 'n', n);
    expect(await read(name)).toEqual(['0', '1', '2', '3', '4']);
    await bench.raw.xadd(key, '*', 'n', 5);
    expect(await read(name)).toEqual(['5']);
    await bench.raw.xdel(key, (await bench.raw.xadd(key, '*', 'n', 6)) as string);
    expect(await bench.streams.stats(name, 'g')).toMatchObject({ length: 6, lag: 0, oldestMs: undefined });
    expect(await bench.raw.xlen(key)).toBe(6);
    expect(await bench.streams.removeGroup(name, 'g')).toBe(true);
    expect(await bench.raw.xlen(key)).toBe(6);
  });

  it('begins at `from`: at the end, or after an entry', async () => {
    const { name, key } = fresh();
    define(bench.streams, { name, keys: [key] });
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push((await bench.raw.xadd(key, '*', 'n', n)) as string);
    expect(await read(name, ids[2])).toEqual(['3', '4']);
    await bench.streams.removeGroup(name, 'g');
    expect(await read(name, 'end')).toEqual([]);
    await bench.raw.xadd(key, '*', 'n', 5);
    expect(await read(name, 'end')).toEqual(['5']);
    // One that did not exist when the consumer started has nothing but what came later.
    const later = fresh();
    define(bench.streams, { name: later.name, keys: [later.key] });
    const seen: unknown[] = [];
    const handle = await bench.streams.handle(group(later.name, 'g', { from: 'end' }), ({ payload }) => {
      seen.push(payload);
    });
    await bench.raw.xadd(later.key, '*', 'n', 1);
    await eventually(() => expect(seen).toEqual([{ n: '1' }]));
    // The group is made again where it first began.
    await bench.raw.xgroup('DESTROY', later.key, 'g');
    await bench.raw.xadd(later.key, '*', 'n', 2);
    await eventually(() => expect(seen).toContainEqual({ n: '2' }));
    await handle.stop();
  });

  it('deletes an entry after all groups that are named, also those that come later', async () => {
    const { name, key } = fresh();
    define(bench.streams, { name, keys: [key], deleteAfter: ['g', 'late'] });
    for (let n = 0; n < 5; n++) await bench.raw.xadd(key, '*', 'n', n);
    expect(await read(name)).toHaveLength(5);
    expect(await bench.raw.xlen(key)).toBe(5);
    const seen: unknown[] = [];
    const late = await bench.streams.handle(group(name, 'late'), ({ payload }) => void seen.push(payload));
    await eventually(() => expect(seen).toHaveLength(5));
    await empty(name);
    await late.stop();
  });

  it('leaves entries to a consumer of another program, until that has done nothing for a lease', async () => {
    const { name, key } = fresh();
    define(bench.streams, { name, keys: [key] });
    const terms = group(name, 'g', { leaseMs: 2_000 });
    await bench.raw.xadd(key, '*', 'n', 1);
    await bench.raw.xgroup('CREATE', key, 'g', '0');
    const readAt = performance.now();
    await bench.raw.xreadgroup('GROUP', 'g', 'theirs', 'COUNT', 1, 'STREAMS', key, '>');
    let takenAt = 0;
    const handle = await bench.streams.handle(terms, ({ attempt }) => {
      takenAt = performance.now();
      expect(attempt).toBe(2);
    });
    await eventually(() => expect(takenAt).toBeGreaterThan(0));
    expect(takenAt - readAt).toBeGreaterThanOrEqual(1_990);
    await handle.stop();
  });
});
