import { InvalidInputError } from 'luanest/script-registry';
import { deadLetter, retryLater, type StreamMessage } from 'luanest/stream-consumer';
import { InvalidOptionError } from '../../internal/src';
import { Gate } from '../../../test/support/gate';
import { eventually } from '../../../test/support/wait';
import { tagOf } from '../src/streams/partitions';
import { define, group, openBench, servers, type Bench } from './support';

describe.each(servers)('streams on %s', (_, client) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(client(), { partitions: 3 });
    define(bench.streams, { name: 'one', partitions: 1 });
    define(bench.streams, { name: 'remembered', partitions: 1 });
    define(bench.streams, { name: 'bounded', partitions: 1, maxLength: 3 });
  });
  afterAll(() => bench.close());

  const done = async (stream: string, name: string): Promise<void> => {
    await eventually(async () => {
      expect(await bench.streams.stats(stream, name)).toMatchObject({
        length: 0,
        pending: 0,
        lag: 0,
        due: 0,
        parked: 0,
      });
    });
  };

  it('each message is handled, with what the publisher gave', async () => {
    const { streams } = bench;
    const seen: StreamMessage[] = [];
    await streams.publish('all', { early: true });
    const before = Date.now();
    const handle = await streams.handle(group('all', 'g'), (message) => void seen.push(message));
    const results = await streams.publishMany('all', [
      { payload: 'é\u0000', key: 'k', operationId: 'op' },
      { payload: null },
      { payload: [1, { a: 2 }] },
    ]);
    await done('all', 'g');
    expect(seen.map(({ payload }) => JSON.stringify(payload)).sort()).toEqual(
      [{ early: true }, 'é\u0000', null, [1, { a: 2 }]].map((one) => JSON.stringify(one)).sort(),
    );
    const keyed = seen.find(({ key }) => key === 'k');
    expect(keyed).toMatchObject({ stream: 'all', group: 'g', attempt: 1, operationId: 'op' });
    expect(results[0]).toEqual({ status: 'published', id: keyed?.id, replayed: false });
    expect(keyed?.signal.aborted).toBe(false);
    expect(Math.abs((keyed?.firstSeenAtMs ?? 0) - before)).toBeLessThan(60_000);
    expect(seen.filter(({ operationId }) => operationId === undefined)).toHaveLength(3);
    expect(JSON.parse(JSON.stringify(keyed))).toMatchObject({ id: keyed?.id, payload: 'é\u0000', attempt: 1 });
    await handle.stop();
    expect(handle.running).toBe(0);
  });

  it('an operation is published once, whatever is sent again', async () => {
    const first = await bench.streams.publish('again', 1, { operationId: 'o', key: 'k' });
    const again = await bench.streams.publish('again', 2, { operationId: 'o', key: 'k' });
    expect(first).toMatchObject({ status: 'published', replayed: false });
    expect(again).toEqual({ ...first, replayed: true });
    expect(await bench.streams.stats('again', 'nobody')).toMatchObject({ length: 1, lag: 1, pending: 0 });
  });

  it('an operation is remembered as long as its message asks for', async () => {
    const { streams, raw } = bench;
    await streams.publish('remembered', 1, { operationId: 'o', operationRetentionMs: 3_600_000 });
    const key = `${bench.prefix}:stream-consumer:{${tagOf('remembered', 0)}}:operation:co`;
    expect(await raw.pttl(key)).toBeGreaterThan(1_800_000);
    await expect(streams.publish('remembered', 1, { operationRetentionMs: 2_000 })).rejects.toThrow(
      'without operationId',
    );
    const short = { operationId: 'o', operationRetentionMs: 1 };
    await expect(streams.publish('remembered', 1, short)).rejects.toThrow('operationRetentionMs is 1');
  });

  it('a bounded stream refuses, and loses nothing', async () => {
    const { streams } = bench;
    for (let i = 0; i < 3; i++) expect((await streams.publish('bounded', i)).status).toBe('published');
    expect(await streams.publish('bounded', 3)).toEqual({ status: 'full', length: 3 });
    const seen: unknown[] = [];
    await streams.handle(group('bounded', 'g'), ({ payload }) => void seen.push(payload));
    await done('bounded', 'g');
    expect(seen).toEqual([0, 1, 2]);
    expect((await streams.publish('bounded', 4)).status).toBe('published');
  });

  it('every group gets every message, which is deleted when all have it', async () => {
    const { streams } = bench;
    const [one, two]: [unknown[], unknown[]] = [[], []];
    const gate = new Gate();
    await streams.handle(group('both', 'one'), ({ payload }) => void one.push(payload));
    await streams.handle(group('both', 'two', { concurrency: 4 }), async ({ payload }) => {
      await gate.pass();
      two.push(payload);
    });
    await streams.publishMany(
      'both',
      Array.from({ length: 10 }, (__, payload) => ({ payload })),
    );
    await eventually(() => expect([one.length, gate.entered]).toEqual([10, 4]));
    expect(await streams.stats('both', 'two')).toMatchObject({ length: 10, pending: 4, lag: 6 });
    await eventually(() => {
      gate.open();
      expect(two).toHaveLength(10);
    });
    await done('both', 'two');
    await done('both', 'one');
    expect([...two].sort()).toEqual([...one].sort());
  });

  it('a group that is not used any more is removed, with what it alone had kept', async () => {
    const { streams } = bench;
    const gate = new Gate();
    const idle = await streams.handle(group('kept', 'idle', { concurrency: 1 }), () => gate.pass());
    const seen: unknown[] = [];
    await streams.handle(group('kept', 'busy'), ({ payload }) => void seen.push(payload));
    const messages = Array.from({ length: 250 }, (__, payload) => ({ payload }));
    await streams.publishMany('kept', messages);
    await eventually(() => expect(seen).toHaveLength(250));
    await eventually(async () =>
      expect(await streams.stats('kept', 'busy')).toMatchObject({ length: 250, pending: 0 }),
    );
    gate.open();
    await idle.stop();
    expect(await streams.removeGroup('kept', 'idle')).toBe(true);
    expect(await streams.removeGroup('kept', 'idle')).toBe(false);
    await done('kept', 'busy');
    await streams.publish('kept', 'more');
    await eventually(() => expect(seen).toHaveLength(251));
    await done('kept', 'busy');
    // What nobody has read is kept for who comes.
    await streams.publish('unread', 1);
    expect(await streams.removeGroup('unread', 'nobody')).toBe(false);
    expect(await streams.stats('unread', 'g')).toMatchObject({ length: 1 });
  });

  it('a handler that is not a function is refused', async () => {
    await expect(bench.streams.handle(group('one', 'refused'), 5 as never)).rejects.toMatchObject({
      code: 'SETUP',
      message: 'StreamConsumerService.handle: The handler is 5. Expected a function.',
    });
  });

  it('outcomes: nothing, retryLater, deadLetter, thrown or returned', async () => {
    const { streams } = bench;
    const seen: string[] = [];
    await streams.handle<string>(group('outcomes', 'g', { attempts: 3 }), ({ payload, attempt }) => {
      seen.push(`${payload} ${attempt}`);
      if (payload === 'nothing') return undefined;
      if (payload === 'later') return attempt === 1 ? retryLater({ delayMs: 1 }) : undefined;
      if (payload === 'dead') return deadLetter('no use');
      if (payload === 'thrown dead') throw deadLetter('no use either') as unknown as Error;
      if (attempt < 3) throw new Error(`failed ${attempt}`);
      return undefined;
    });
    for (const payload of ['nothing', 'later', 'dead', 'thrown dead', 'throws'])
      await streams.publish('outcomes', payload);
    await done('outcomes', 'g');
    expect(seen.sort()).toEqual([
      'dead 1',
      'later 1',
      'later 2',
      'nothing 1',
      'thrown dead 1',
      'throws 1',
      'throws 2',
      'throws 3',
    ]);
    const { items, nextCursor } = await streams.deadLetters('outcomes', 'g');
    expect(nextCursor).toBeUndefined();
    expect(items.map(({ payload, error, attemptsMade }) => ({ payload, error, attemptsMade }))).toEqual(
      expect.arrayContaining([
        { payload: 'dead', error: 'no use', attemptsMade: 1 },
        { payload: 'thrown dead', error: 'no use either', attemptsMade: 1 },
      ]),
    );
    expect(items).toHaveLength(2);
  });

  const refused = async (): Promise<void> => {
    await Promise.resolve();
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- as handlers of others do
    throw undefined;
  };
  const hostile = (): Error => {
    const trap = (): never => {
      throw new Error('do not look');
    };
    // Promises look for `then` themselves.
    return new Proxy(new Error('hostile'), {
      getPrototypeOf: trap,
      get: (_target, key) => (key === 'then' ? undefined : trap()),
    });
  };
  const anything =
    (value: unknown): (() => never) =>
    () =>
      value as never;
  it.each<[string, (message: StreamMessage) => never, RegExp]>([
    ['throws', () => Promise.reject(new TypeError('broken')) as never, /^TypeError: broken/],
    ['rejects with nothing', () => refused() as never, /undefined/],
    [
      'throws what throws at who looks',
      () => {
        throw hostile();
      },
      /throws when it is read|cannot be shown|do not look/,
    ],
    [
      'returns a thenable that throws',
      anything({
        then: () => {
          throw new Error('no then');
        },
      }),
      /Error: no then/,
    ],
    [
      'returns what has a broken then',
      anything(
        Object.defineProperty({}, 'then', {
          get: () => {
            throw new Error('no getter');
          },
        }),
      ),
      /no getter/,
    ],
    ['hangs', anything(new Promise(() => undefined)), /TimeoutError/],
  ])(
    'a handler that %s: its message is retried, then a dead letter, never acknowledged',
    async (what, handler, error) => {
      const { streams } = bench;
      const stream = what.replaceAll(' ', '-');
      const handle = await streams.handle(group(stream, 'g', { attempts: 2, timeoutMs: 100 }), handler);
      await streams.publish(stream, { n: 1 }, { key: 'k', operationId: 'o' });
      const [letter] = await eventually(async () => {
        const { items } = await streams.deadLetters(stream, 'g');
        expect(items).toHaveLength(1);
        return items;
      });
      expect(letter).toMatchObject({ payload: { n: 1 }, key: 'k', operationId: 'o', attemptsMade: 2 });
      expect(letter?.error).toMatch(error);
      expect(letter?.deadAtMs).toBeGreaterThanOrEqual(letter?.firstSeenAtMs ?? Infinity);
      await done(stream, 'g');
      await handle.stop();
    },
  );

  it.each<[string, unknown]>([
    ['returns a value', 'ok'],
    ['returns null', null],
    ['resolves with an object', Promise.resolve({ kind: 'commit' })],
    ['resolves with what throws at who looks', hostile()],
  ])('a handler that %s has handled its message', async (what, value) => {
    const { streams } = bench;
    const stream = what.replaceAll(' ', '-');
    let runs = 0;
    const handle = await streams.handle(group(stream, 'g'), () => {
      runs += 1;
      return value as never;
    });
    await streams.publish(stream, 1);
    await eventually(() => expect(runs).toBe(1));
    await done(stream, 'g');
    expect(await streams.stats(stream, 'g')).toMatchObject({ dead: 0 });
    await handle.stop();
  });

  it('a payload that is not JSON becomes a dead letter as it was', async () => {
    const { streams, raw } = bench;
    const { stream } = bench.keys('one', 'malformed');
    const handled: unknown[] = [];
    const handle = await streams.handle(
      group('one', 'malformed', { attempts: 2 }),
      ({ payload }) => void handled.push(payload),
    );
    await raw.xadd(stream, '*', 'payload', '{nonsense');
    await raw.xadd(stream, '*', 'payload', '');
    await streams.publish('one', 'fine');
    const items = await eventually(async () => {
      const page = await streams.deadLetters('one', 'malformed');
      expect(page.items).toHaveLength(2);
      return page.items;
    });
    const error = expect.stringMatching(/^InvalidInputError:/) as string;
    expect(items).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ payload: '{nonsense', error, attemptsMade: 1 }),
        expect.objectContaining({ payload: '', error, attemptsMade: 1 }),
      ]),
    );
    await eventually(() => expect(handled).toEqual(['fine']));
    await handle.stop();
  });

  it('dead letters come in pages, and are replayed for their group alone, or dropped', async () => {
    const { streams } = bench;
    const seen: string[] = [];
    const other: number[] = [];
    let broken = true;
    await streams.handle<number>(group('letters', 'g', { attempts: 1 }), ({ payload }) => {
      if (broken) throw new Error(`no ${payload}`);
      seen.push(`g ${payload}`);
    });
    await streams.handle<number>(group('letters', 'other'), ({ payload }) => void other.push(payload));
    await streams.publishMany(
      'letters',
      Array.from({ length: 12 }, (__, payload) => ({ payload })),
    );
    await eventually(async () => expect((await streams.stats('letters', 'g')).dead).toBe(12));
    const ids: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const page: Awaited<ReturnType<typeof streams.deadLetters>> = await streams.deadLetters('letters', 'g', {
        limit: 5,
        ...(cursor !== '' && { cursor }),
      });
      ids.push(...page.items.map(({ id }) => id));
      cursor = page.nextCursor;
    }
    expect(new Set(ids).size).toBe(12);
    expect(await streams.drop('letters', 'g', ids.slice(0, 2))).toBe(2);
    expect(await streams.drop('letters', 'g', ids.slice(0, 2))).toBe(0);
    broken = false;
    expect(await streams.replay('letters', 'g', ids.slice(0, 4))).toBe(2);
    expect(await streams.replayAll('letters', 'g')).toBe(8);
    await eventually(() => expect(seen).toHaveLength(10));
    await done('letters', 'g');
    await done('letters', 'other');
    expect([...other].sort((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (__, i) => i));
    expect((await streams.stats('letters', 'g')).dead).toBe(0);
  });

  it('at most as many handlers run as were asked for', async () => {
    const { streams } = bench;
    let [running, most] = [0, 0];
    const gate = new Gate();
    let isOpen = false;
    await streams.handle(group('busy', 'g', { concurrency: 7 }), async () => {
      most = Math.max(most, (running += 1));
      // However slowly they are given out, the first ones are there together.
      if (isOpen) await new Promise((resolve) => setTimeout(resolve, Math.random() * 4));
      else await gate.pass();
      running -= 1;
    });
    await streams.publishMany(
      'busy',
      Array.from({ length: 300 }, (__, payload) => ({ payload })),
    );
    await eventually(() => expect(running).toBe(7));
    isOpen = true;
    gate.open();
    await done('busy', 'g');
    expect(most).toBe(7);
  });

  it('what cannot be published is refused before it is sent', async () => {
    const { streams } = bench;
    const loop: Record<string, unknown> = {};
    loop['self'] = loop;
    for (const payload of [undefined, () => 1, loop, 10n, 'x'.repeat(70_000), '€'.repeat(30_000)]) {
      await expect(streams.publish('refused', payload)).rejects.toThrow(InvalidInputError);
    }
    for (const key of ['', 'a\u0000b', 'x'.repeat(257), '\ud800', 5 as never]) {
      await expect(streams.publish('refused', 1, { key })).rejects.toThrow(InvalidInputError);
      await expect(streams.publish('refused', 1, { operationId: key })).rejects.toThrow(InvalidInputError);
    }
    await expect(streams.publish('no {braces}', 1)).rejects.toThrow(InvalidOptionError);
    await expect(streams.handle({ stream: 'x', group: '' }, () => undefined)).rejects.toThrow(InvalidOptionError);
    await expect(streams.deadLetters('x', 'g', { cursor: 'invalid' })).rejects.toThrow(InvalidInputError);
    expect(await streams.stats('refused', 'g')).toMatchObject({ length: 0 });
  });
});
