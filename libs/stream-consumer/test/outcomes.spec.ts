import { ConsoleLogger, Injectable, Logger } from '@nestjs/common';
import {
  deadLetter,
  retryLater,
  StreamConsumer,
  StreamConsumerService,
  type HandlerResult,
  type StreamMessage,
} from 'luanest/stream-consumer';
import { eventually } from '../../../test/support/wait';
import { Hands } from './hands';
import { standaloneClient } from '../../script-registry/test/support';
import { boot, closeAll, group, openBench, servers, type Bench } from './support';
import { few } from '../../../test/support/few';

const SILENT = new ConsoleLogger({ logLevels: [] });
let lines: string[];

function listen(): void {
  lines = [];
  const logger = new ConsoleLogger();
  for (const level of ['log', 'warn', 'error', 'debug', 'verbose'] as const) {
    jest.spyOn(logger, level).mockImplementation((...[message]: unknown[]) => {
      lines.push(`${level} ${String(message)}`);
    });
  }
  Logger.overrideLogger(logger);
}

it('a message that was deleted from the stream is not logged as a dead letter', async () => {
  const bench = await openBench(standaloneClient());
  listen();
  await bench.streams.handle(group('s', 'g'), async ({ id }) => {
    await bench.raw.xdel(bench.keys('s', 'g').stream, id.slice(2));
    return deadLetter('no use');
  });
  await bench.streams.publish('s', 1);
  await eventually(() =>
    expect(lines).toEqual([
      expect.stringMatching(
        /message 0:[\d-]+ is a dead letter, unless it was deleted from the stream, after attempt 1 of 5: /,
      ),
    ]),
  );
  expect((await bench.streams.deadLetters('s', 'g')).items).toEqual([]);
  await bench.close();
  Logger.overrideLogger(SILENT);
});

describe('outcomes of decorated handlers', () => {
  afterEach(async () => {
    await closeAll();
    Logger.overrideLogger(SILENT);
  });

  it('a value that is not an outcome commits the message, with one warning for each handler', async () => {
    const sent: unknown[] = [];
    @Injectable()
    class Mails {
      @StreamConsumer({ stream: 's', group: 'g' })
      send({ payload }: StreamMessage): Promise<HandlerResult> {
        sent.push(payload);
        return Promise.resolve({ accepted: ['secret-4f1c'] } as never);
      }
    }
    const app = await boot({ providers: [Mails] });
    const streams = app.get(StreamConsumerService);
    listen();
    for (let i = 0; i < 3; i++) await streams.publish('s', i);
    await eventually(async () => expect(await streams.stats('s', 'g')).toMatchObject({ length: 0, pending: 0 }));
    expect([...sent].sort()).toEqual([0, 1, 2]);
    expect(await streams.deadLetters('s', 'g')).toMatchObject({ items: [] });
    expect(lines).toEqual([expect.stringMatching(/^warn Stream s, group g: Mails\.send returned an object of Object/)]);
    expect(lines.join()).not.toContain('secret');
  });

  it('an outcome is not an error to Nest, returned or thrown', async () => {
    @Injectable()
    class Mails {
      @StreamConsumer({ stream: 's', group: 'g' })
      send({ payload, attempt }: StreamMessage<string>): HandlerResult {
        if (attempt > 1) return undefined;
        if (payload === 'later') return retryLater({ delayMs: 1 });
        if (payload === 'dead') return deadLetter('no use');
        if (payload === 'thrown later') throw retryLater({ delayMs: 1 }) as unknown as Error;
        throw deadLetter('no use either') as unknown as Error;
      }
    }
    const app = await boot({ providers: [Mails] });
    const streams = app.get(StreamConsumerService);
    listen();
    for (const payload of ['later', 'dead', 'thrown later', 'thrown dead']) await streams.publish('s', payload);
    await eventually(async () =>
      expect(await streams.stats('s', 'g')).toMatchObject({ length: 0, pending: 0, dead: 2 }),
    );
    await eventually(() => expect(lines).toHaveLength(2));
    expect(
      lines.filter(
        (line) => !/^error Stream s, group g: message 0:[\d-]+ is a dead letter after attempt 1 of 5: /.test(line),
      ),
    ).toEqual([]);
  });
});

describe.each(few(servers))('outcomes on %s', (_, client) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(client());
  });
  beforeEach(listen);
  afterAll(async () => {
    await bench.close();
    Logger.overrideLogger(SILENT);
  });

  const buried = (stream: string): Promise<{ error: string; attemptsMade: number } | undefined> =>
    eventually(async () => {
      const { items } = await bench.streams.deadLetters(stream, 'g');
      expect(items).toHaveLength(1);
      return items[0];
    });

  it.each<[string, (message: StreamMessage) => HandlerResult, string]>([
    ['a delay that is not a number', () => retryLater({ delayMs: Number.NaN }), 'retryLater()'],
    ['a number instead of options', () => retryLater(5 as never), 'retryLater()'],
    ['no reason', () => deadLetter(''), 'deadLetter()'],
  ])('an outcome with %s is dead-lettered at the first attempt, and the log says why', async (what, handler, call) => {
    const stream = what.replaceAll(' ', '-');
    const handle = await bench.streams.handle(group(stream, 'g'), handler);
    await bench.streams.publish(stream, 1);
    expect(await buried(stream)).toMatchObject({ attemptsMade: 1 });
    await eventually(() =>
      expect(lines.join('\n')).toContain(`is a dead letter after attempt 1 of 5: InvalidInputError: ${call}`),
    );
    await handle.stop();
  });

  it('a payload that is not JSON is dead-lettered at the first attempt, and the log says why', async () => {
    await bench.raw.xadd(bench.keys('malformed', 'g').stream, '*', 'payload', '{"secret-4f1c"');
    const handle = await bench.streams.handle(group('malformed', 'g'), () => undefined);
    expect(await buried('malformed')).toMatchObject({ attemptsMade: 1 });
    await eventually(() =>
      expect(lines.join('\n')).toMatch(
        /Stream malformed, group g: message 0:[\d-]+ is a dead letter after attempt 1 of 5: InvalidInputError: The payload/,
      ),
    );
    expect(lines.join('\n')).not.toContain('secret');
    await handle.stop();
  });

  it('a dead letter that Redis did not store is not logged', async () => {
    const { sessions } = bench.keys('lost', 'g');
    const attempts: number[] = [];
    const handle = await bench.streams.handle(group('lost', 'g'), async ({ attempt }) => {
      attempts.push(attempt);
      if (attempts.length > 1) return undefined;
      // As the end of its lease and a takeover would.
      for (const name of await bench.raw.zrange(sessions, '0', '-1')) await bench.raw.zadd(sessions, '0', name);
      return deadLetter('no use');
    });
    await bench.streams.publish('lost', 1);
    await eventually(async () =>
      expect(await bench.streams.stats('lost', 'g')).toMatchObject({ length: 0, pending: 0, dead: 0 }),
    );
    expect(attempts).toHaveLength(2);
    expect(lines.join('\n')).not.toContain('dead-lettered');
    await handle.stop();
  });

  it('the log line of a message without an attempt left has the number of the last attempt', async () => {
    const { due } = bench.keys('lowered', 'g');
    const first = await bench.streams.handle(group('lowered', 'g', { attempts: 10 }), ({ attempt }) =>
      retryLater({ delayMs: attempt < 5 ? 0 : 3_600_000 }),
    );
    await bench.streams.publish('lowered', 1);
    const id = await eventually(async () => {
      const [member, score] = await bench.raw.zrange(due, '0', '-1', 'WITHSCORES');
      expect(Number(score)).toBeGreaterThan(Date.now() + 1_800_000);
      return member ?? '';
    });
    await first.stop();
    await bench.raw.zadd(due, '0', id);
    const second = await bench.streams.handle(group('lowered', 'g', { attempts: 3 }), () => undefined);
    expect(await buried('lowered')).toMatchObject({ attemptsMade: 3 });
    await eventually(() =>
      expect(lines.join('\n')).toContain(
        'is a dead letter after attempt 5 of 3: no attempt is left: the consumer died',
      ),
    );
    await second.stop();
  });

  it('the log line of a failed attempt names it, with the reason of the library or the class of the error', async () => {
    const { streams } = bench;
    const handles = [
      await streams.handle(group('own', 'g', { attempts: 2 }), () => {
        throw new TypeError('secret-4f1c');
      }),
      await streams.handle(group('slow', 'g', { attempts: 2, timeoutMs: 20 }), () => new Promise(() => undefined)),
      await streams.handle(group('input', 'g', { attempts: 2 }), async () => {
        await streams.publish('x', 1, { key: 'secret-4f1c\n' });
      }),
    ];
    for (const stream of ['own', 'slow', 'input']) await streams.publish(stream, 1);
    for (const stream of ['own', 'slow', 'input']) expect(await buried(stream)).toMatchObject({ attemptsMade: 2 });
    const text = lines.join('\n');
    expect(text).toMatch(/warn Stream own, group g: message 0:[\d-]+ failed at attempt 1 of 2: TypeError\. /);
    expect(text).toMatch(
      /warn Stream slow, group g: message 0:[\d-]+ failed at attempt 1 of 2: TimeoutError: The handler of message .* did not end within \d+ ms \(timeoutMs\)\. /,
    );
    expect(text).toMatch(/warn Stream input, group g: message 0:[\d-]+ failed at attempt 1 of 2: InvalidInputError\. /);
    expect(text).not.toContain('secret');
    await Promise.all(handles.map((handle) => handle.stop()));
  });

  it('a handler without a decorator that returns a value commits, with one warning', async () => {
    const handle = await bench.streams.handle(group('plain', 'g'), () => 'ok' as never);
    for (let i = 0; i < 3; i++) await bench.streams.publish('plain', i);
    await eventually(async () =>
      expect(await bench.streams.stats('plain', 'g')).toMatchObject({ length: 0, pending: 0, dead: 0 }),
    );
    expect(lines).toEqual([expect.stringMatching(/^warn Stream plain, group g: the handler returned a string/)]);
    await handle.stop();
  });

  it('a delay below 0 is a retry at once', async () => {
    const attempts: number[] = [];
    const handle = await bench.streams.handle(group('late', 'g'), ({ attempt }) => {
      attempts.push(attempt);
      return attempt === 1 ? retryLater({ delayMs: -86_400_000 }) : undefined;
    });
    await bench.streams.publish('late', 1);
    await eventually(() => expect(attempts).toEqual([1, 2]));
    await handle.stop();
  });

  it.each([false, true])('a retry that does not count spends no attempt, ordered: %s', async (ordered) => {
    const { streams } = bench;
    const stream = `free-${ordered}`;
    const attempts: number[] = [];
    const handle = await streams.handle(group(stream, 'g', { attempts: 2, ordered }), ({ attempt }) => {
      attempts.push(attempt);
      if (attempts.length < 6) return retryLater({ delayMs: 1, countsAsAttempt: false });
      if (attempts.length === 6) throw new Error('this one counts');
      return undefined;
    });
    await streams.publish(stream, 1, { key: 'k' });
    await eventually(async () => expect(await streams.stats(stream, 'g')).toMatchObject({ length: 0, dead: 0 }));
    expect(attempts).toEqual([1, 1, 1, 1, 1, 1, 2]);
    await handle.stop();
  });

  it('a retry that does not count, sent again after its entry was taken again, changes nothing', async () => {
    const hands = new Hands(bench, 'sent-again', 'g', false);
    await hands.publish(1);
    await hands.open();
    const [entry] = (await hands.take('s', 't1', 1)).entries;
    if (!entry) throw new Error('nothing was taken');
    expect(await hands.retry('s', entry, 0, 0)).toBe(true);
    const [again] = (await hands.take('s', 't2', 1)).entries;
    expect(again).toMatchObject({ id: entry.id, attempt: 1, returned: 1 });
    expect(await hands.retry('s', entry, 0, 0)).toBe(true);
    expect([...(await hands.owners()).values()]).toEqual(['s']);
    // The next one is another retry.
    expect(await hands.retry('s', again as typeof entry, 0, 0)).toBe(true);
    expect([...(await hands.owners()).values()]).toEqual([]);
    // Late copies of both: of the one that was noted last, and of an earlier one.
    expect((await hands.take('s', 't3', 1)).entries).toMatchObject([{ id: entry.id, attempt: 1, returned: 2 }]);
    for (const late of [again as typeof entry, entry]) expect(await hands.retry('s', late, 0, 0)).toBe(true);
    expect([...(await hands.owners()).values()]).toEqual(['s']);
  });

  it.each<[string, () => unknown]>([
    ['retryLater', () => retryLater({ delayMs: 366 * 86_400_000 + 1 })],
    ['retryLater', () => retryLater({ delayMs: 1.5 })],
    ['retryLater', () => retryLater({ delayMs: 1, countAsAttempt: false } as never)],
    ['retryLater', () => retryLater({ delayMs: 1, countsAsAttempt: 0 as never })],
    ['retryLater', () => retryLater(undefined as never)],
    ['deadLetter', () => deadLetter(undefined as never)],
  ])('%s() refuses what cannot be meant (%#)', (name, call) => {
    let error: unknown;
    try {
      call();
    } catch (thrown) {
      error = thrown;
    }
    const message = expect.stringContaining(`${name}()`) as string;
    expect(error).toMatchObject({ code: 'INVALID_OUTCOME', message });
  });
});
