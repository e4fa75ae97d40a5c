import {
  Injectable,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import type { Observable } from 'rxjs';
import { of } from 'rxjs';
import { deadLetter, retryLater, StreamConsumer, StreamConsumerService, StreamPayload } from 'luanest/stream-consumer';
import { Gate } from '../../../test/support/gate';
import { eventually } from '../../../test/support/wait';
import { boot, closeAll, group, openBench, servers, type Bench } from './support';
import { few } from '../../../test/support/few';

describe.each(few(servers))('handlers of batches on %s', (_, client) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(client(), { partitions: 2, concurrency: 20 });
  });
  afterAll(() => bench.close());

  const publish = (stream: string, count: number, key?: (n: number) => string) =>
    bench.streams.publishMany(
      stream,
      Array.from({ length: count }, (__, payload) => ({ payload, ...(key && { key: key(payload) }) })),
    );
  const settled = (stream: string, dead = 0) =>
    eventually(async () =>
      expect(await bench.streams.stats(stream, 'g')).toMatchObject({ length: 0, pending: 0, lag: 0, dead }),
    );

  it('get at most `size` messages that are ready, each once; concurrency counts messages', async () => {
    const sizes: number[] = [];
    const seen: unknown[] = [];
    const gate = new Gate();
    let isOpen = false;
    await publish('plain', 100);
    const handle = await bench.streams.handle({ ...group('plain', 'g'), batch: { size: 8 } }, async (messages) => {
      sizes.push(messages.length);
      if (!isOpen) await gate.pass();
      seen.push(...messages.map(({ payload }) => payload));
    });
    await eventually(() => expect(handle.running).toBe(20));
    expect(sizes.reduce((sum, size) => sum + size)).toBe(20);
    isOpen = true;
    gate.open();
    await settled('plain');
    expect(seen.sort((a, b) => Number(a) - Number(b))).toEqual(Array.from({ length: 100 }, (__, n) => n));
    expect(Math.max(...sizes)).toBe(8);
    // A message does not wait for a full batch.
    await publish('plain', 1);
    await eventually(() => expect(sizes.at(-1)).toBe(1));
    await handle.stop();
  });

  it('return one outcome for each message, in their order', async () => {
    const attempts: string[] = [];
    await publish('outcomes', 12);
    const handle = await bench.streams.handle({ ...group('outcomes', 'g'), batch: { size: 20 } }, (messages) => {
      attempts.push(...messages.map(({ payload, attempt }) => `${String(payload)} ${attempt}`));
      return messages.map(({ payload, attempt }) => {
        if (payload === 3) return deadLetter('three');
        return payload === 5 && attempt === 1 ? retryLater({ delayMs: 0 }) : undefined;
      });
    });
    await settled('outcomes', 1);
    expect(attempts.sort()).toEqual([...Array.from({ length: 12 }, (__, n) => `${n} 1`), '5 2'].sort());
    const { items } = await bench.streams.deadLetters('outcomes', 'g');
    expect(items).toMatchObject([{ payload: 3, error: 'three', attemptsMade: 1 }]);
    await handle.stop();
  });

  it('fail all messages by a throw, and each is retried by itself', async () => {
    let calls = 0;
    await publish('throws', 4);
    const options = { ...group('throws', 'g', { attempts: 2 }), batch: { size: 10 } };
    const handle = await bench.streams.handle(options, (messages) => {
      calls += 1;
      if (messages.some(({ payload }) => payload === 2)) throw new Error('with 2');
      return of(undefined) as never;
    });
    await eventually(async () => {
      const { items } = await bench.streams.deadLetters('throws', 'g');
      expect(items.map(({ payload }) => payload)).toContain(2);
      for (const { error, attemptsMade } of items) expect([error, attemptsMade]).toEqual(['Error: with 2', 2]);
    });
    expect(calls).toBeGreaterThan(1);
    await handle.stop();
  });

  it('settle all messages by one outcome, and none by an array of another length', async () => {
    await publish('one', 3);
    const one = await bench.streams.handle({ ...group('one', 'g'), batch: { size: 10 } }, () => deadLetter('all'));
    await settled('one', 3);
    await one.stop();
    await publish('short', 3, () => 'same partition');
    const short = await bench.streams.handle({ ...group('short', 'g'), batch: { size: 10 } }, () => [
      deadLetter('which?'),
      undefined,
      ...Array<undefined>(10),
    ]);
    await settled('short', 3);
    const { items } = await bench.streams.deadLetters('short', 'g');
    for (const { error } of items) expect(error).toContain('returned an array of 12');
    await short.stop();
  });

  it('do not get a payload that is not JSON, which is a dead letter of its own', async () => {
    await bench.raw.xadd(bench.keys('broken', 'g').stream, '*', 'payload', '{');
    await publish('broken', 3);
    const seen: unknown[] = [];
    const handle = await bench.streams.handle({ ...group('broken', 'g'), batch: { size: 10 } }, (messages) => {
      seen.push(...messages.map(({ payload }) => payload));
    });
    await settled('broken', 1);
    expect(seen.sort()).toEqual([0, 1, 2]);
    await handle.stop();
  });

  it('get one message of each key at a time if the group is ordered', async () => {
    const seen = new Map<string | undefined, unknown[]>();
    let twice = false;
    await publish('ordered', 60, (n) => `k${n % 5}`);
    const options = { ...group('ordered', 'g', { ordered: true }), batch: { size: 20 } };
    const handle = await bench.streams.handle(options, (messages) => {
      twice ||= new Set(messages.map(({ key }) => key)).size < messages.length;
      for (const { key, payload } of messages) seen.set(key, [...(seen.get(key) ?? []), payload]);
    });
    await settled('ordered');
    expect(twice).toBe(false);
    for (let k = 0; k < 5; k++) expect(seen.get(`k${k}`)).toEqual(Array.from({ length: 12 }, (__, n) => k + n * 5));
    await handle.stop();
  });

  it('that run past their timeout fail each of their messages, and the signals fire', async () => {
    const gate = new Gate();
    const reasons: unknown[] = [];
    await publish('slow', 3);
    const options = { ...group('slow', 'g', { timeoutMs: 20, attempts: 1 }), batch: { size: 10 } };
    const handle = await bench.streams.handle(options, async (messages) => {
      for (const { signal } of messages) signal.addEventListener('abort', () => reasons.push(signal.reason));
      await gate.pass();
    });
    await settled('slow', 3);
    expect(reasons).toHaveLength(3);
    gate.open();
    await handle.stop();
  });

  it('need as much concurrency', async () => {
    const handle = (batch: object) => bench.streams.handle({ ...group('x', 'g'), batch } as never, () => undefined);
    await expect(handle({ size: 21 })).rejects.toThrow('batch.size is 21 messages, but concurrency is 20 messages');
    await expect(handle({ size: 0 })).rejects.toThrow('batch.size');
    await expect(handle({ size: 1, maxWaitMs: 5 })).rejects.toThrow('maxWaitMs');
  });
});

describe('a decorated handler of batches', () => {
  afterAll(closeAll);

  it('has guards, pipes and interceptors once for each batch, whose argument is the array', async () => {
    const contexts: unknown[] = [];
    const seen: string[][] = [];
    @Injectable()
    class Counting implements NestInterceptor {
      intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
        contexts.push(context.getArgByIndex<unknown[]>(0).length);
        return next.handle();
      }
    }
    @Injectable()
    class Mails {
      @UseInterceptors(Counting)
      @StreamConsumer({ stream: 'mails', group: 'g', batch: { size: 5 } })
      send(@StreamPayload('to', { transform: (all: string[]) => all.map((to) => to.toUpperCase()) }) all: string[]) {
        seen.push(all);
        return all.map((to) => (to === 'C' ? deadLetter('no') : undefined));
      }
    }
    const app = await boot({ providers: [Mails, Counting] });
    const streams = app.get(StreamConsumerService);
    await streams.publishMany(
      'mails',
      ['a', 'b', 'c', 'd'].map((to) => ({ payload: { to } })),
    );
    await eventually(async () =>
      expect(await streams.stats('mails', 'g')).toMatchObject({ length: 0, pending: 0, dead: 1 }),
    );
    expect(seen.flat().sort()).toEqual(['A', 'B', 'C', 'D']);
    expect(contexts).toEqual(seen.map((all) => all.length));
  });
});
