import { LostError, TimeoutError } from 'luanest/script-registry';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Redis } from 'ioredis';
import { deadLetter, StreamConsumerEvents, type HandlerResult, type StreamMessage } from 'luanest/stream-consumer';
import { Gate } from '../../../test/support/gate';
import { eventually } from '../../../test/support/wait';
import { group, openBench, servers, type Bench } from './support';
import { few } from '../../../test/support/few';

describe.each(few(servers))('leases on %s', (_, client) => {
  let one: Bench;
  let two: Bench;
  beforeAll(async () => {
    one = await openBench(client(), { abortGraceMs: 0, drainMs: 0 });
    two = await openBench(client(), { abortGraceMs: 0, drainMs: 0 }, { prefix: one.prefix });
  });
  afterAll(() => Promise.all([one.close(), two.close()]));

  const listen = <E extends keyof StreamConsumerEvents>(
    channel: E,
  ): { readonly events: StreamConsumerEvents[E][]; stop(): void } => {
    const events: StreamConsumerEvents[E][] = [];
    const listener = (event: unknown): void => void events.push(event as StreamConsumerEvents[E]);
    subscribe(StreamConsumerEvents[channel], listener);
    return { events, stop: () => unsubscribe(StreamConsumerEvents[channel], listener) };
  };

  /** Ends the leases of all sessions of a group, as the passing of their time would. */
  async function expire(stream: string): Promise<void> {
    const { sessions, woken } = one.keys(stream, 'g');
    for (const name of await one.raw.zrangebyscore(sessions, '-inf', '+inf')) await one.raw.zadd(sessions, '1', name);
    // Consumers sleep until the end that they know.
    await one.raw.spublish(woken, 'expired');
  }

  /** Redis' time, ms. */
  async function redisNow(): Promise<number> {
    const [seconds, micros] = await one.raw.time();
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  }

  /** When the first of the leases of a group ends by Redis' clock, ms. */
  async function leaseEnd(stream: string): Promise<number> {
    return Number((await one.raw.zrange(one.keys(stream, 'g').sessions, '0', '0', 'WITHSCORES'))[1]);
  }

  async function settled(stream: string): Promise<void> {
    await eventually(async () => {
      expect(await two.streams.stats(stream, 'g')).toMatchObject({ length: 0, pending: 0, due: 0, parked: 0 });
    });
  }

  it('what a dead process had is taken over when its lease ends', async () => {
    const victim = await openBench(client(), { drainMs: 0, abortGraceMs: 0 }, { prefix: one.prefix });
    const gate = new Gate();
    const takenOver = listen('sessionTakenOver');
    // With no place left it cannot overtake itself, where the machine stands still for longer than the lease.
    await victim.streams.handle(group('dead', 'g', { leaseMs: 2_000, concurrency: 5 }), () => gate.pass());
    for (let i = 0; i < 5; i++) await two.streams.publish('dead', i);
    await eventually(() => expect(gate.entered).toBe(5));
    victim.registry.close();
    const endsAt = await leaseEnd('dead');
    const [seen, times]: [string[], number[]] = [[], []];
    const options = group('dead', 'g', { leaseMs: 600_000 });
    await two.streams.handle<number>(options, async ({ payload, attempt }) => {
      seen.push(`${payload} ${attempt}`);
      times.push(await redisNow());
    });
    // Polling would take most of a minute, so it waits for the end of the lease.
    await eventually(() => expect(times).toHaveLength(5), { timeoutMs: 20_000 });
    expect(Math.min(...times)).toBeGreaterThanOrEqual(endsAt);
    expect(seen.sort()).toEqual(['0 2', '1 2', '2 2', '3 2', '4 2']);
    await settled('dead');
    expect(takenOver.events.reduce((sum, { stream, messages }) => sum + (stream === 'dead' ? messages : 0), 0)).toBe(5);
    takenOver.stop();
    gate.open();
    await victim.close();
  });

  it('a live handler that takes more than twice its lease keeps it', async () => {
    const seen: string[] = [];
    // With no place left it takes nothing, so nothing but its renewals keeps the lease; which has time for a renewal that
    // comes three seconds late, as where the machine stands still.
    const leaseMs = 4_000;
    const options = group('long', 'g', { leaseMs, concurrency: 1 });
    const gate = new Gate();
    let aborted = false;
    const work = (who: string) => async (message: StreamMessage) => {
      seen.push(`${who} ${message.attempt}`);
      await gate.pass();
      aborted ||= message.signal.aborted;
    };
    await one.streams.handle(options, work('one'));
    await two.streams.handle(options, work('two'));
    await one.streams.publish('long', 1);
    await eventually(() => expect(gate.entered).toBe(1));
    const goesOnAt = (await redisNow()) + 2 * leaseMs;
    await eventually(async () => expect(await redisNow()).toBeGreaterThan(goesOnAt));
    gate.open();
    await settled('long');
    expect(seen).toHaveLength(1);
    expect(aborted).toBe(false);
  });

  it.each<[string, () => HandlerResult]>([
    ['acknowledge', () => undefined],
    [
      'failure',
      () => {
        throw new Error('late');
      },
    ],
    ['dead letter', () => deadLetter('late')],
  ])("a zombie's late %s changes nothing", async (what, late) => {
    const stream = `zombie-${what.replaceAll(' ', '-')}`;
    const [first, second] = [new Gate(), new Gate()];
    const lost = listen('messagesLost');
    let zombie: StreamMessage | undefined;
    // As a process that was stopped: it renews nothing, and knows nothing of its loss.
    const held = await one.streams.handle(group(stream, 'g', { concurrency: 1, leaseMs: 600_000 }), async (message) => {
      zombie = message;
      await first.pass();
      return late();
    });
    await one.streams.publish(stream, 'p');
    await eventually(() => expect(first.entered).toBe(1));
    await expire(stream);
    const seen: number[] = [];
    const other = await two.streams.handle(group(stream, 'g', { concurrency: 1 }), async ({ attempt }) => {
      seen.push(attempt);
      await second.pass();
    });
    await eventually(() => expect(second.entered).toBe(1));
    const { stream: key, dead } = one.keys(stream, 'g');
    const before = await one.raw.xpending(key, 'g', '-', '+', 10);
    first.open();
    await eventually(() => expect(lost.events.flatMap(({ ids }) => ids)).toContain(zombie?.id));
    expect(zombie?.signal.aborted).toBe(true);
    expect(zombie?.signal.reason).toBeInstanceOf(LostError);
    const after = await one.raw.xpending(key, 'g', '-', '+', 10);
    expect(after.map((row) => (row as unknown[]).slice(0, 2))).toEqual(
      before.map((row) => (row as unknown[]).slice(0, 2)),
    );
    expect([await one.raw.xlen(key), await one.raw.xlen(dead)]).toEqual([1, 0]);
    second.open();
    await settled(stream);
    expect(seen).toEqual([2]);
    // The one that lost its session goes on with a new one.
    await other.stop();
    await one.streams.publish(stream, 'next');
    await eventually(() => expect(first.entered).toBe(2));
    lost.stop();
    await held.stop();
  });

  it('a lease that is over is good again, as long as nobody has taken over', async () => {
    const gate = new Gate();
    const seen: number[] = [];
    const handle = await one.streams.handle(
      group('revived', 'g', { leaseMs: 600_000, concurrency: 1 }),
      async ({ attempt }) => {
        seen.push(attempt);
        await gate.pass();
      },
    );
    await one.streams.publish('revived', 'p');
    await eventually(() => expect(gate.entered).toBe(1));
    await expire('revived');
    gate.open();
    await settled('revived');
    expect(seen).toEqual([1]);
    await handle.stop();
  });

  it('a message that kills its consumers becomes a dead letter', async () => {
    const gate = new Gate();
    const options = group('poison', 'g', { attempts: 2, leaseMs: 600_000, concurrency: 1 });
    const attempts: number[] = [];
    const work = async ({ attempt }: StreamMessage): Promise<void> => {
      attempts.push(attempt);
      await gate.pass();
    };
    const victims = [await one.streams.handle(options, work), await two.streams.handle(options, work)];
    await one.streams.publish('poison', 'p');
    for (let deaths = 1; deaths <= 2; deaths++) {
      await eventually(() => expect(gate.entered).toBe(deaths));
      await expire('poison');
    }
    // Both have lost it; a third one finds that it had its attempts.
    const third = await openBench(client(), { drainMs: 0, abortGraceMs: 0 }, { prefix: one.prefix });
    await third.streams.handle({ ...options, concurrency: 2 }, work);
    const [letter] = await eventually(async () => {
      const { items } = await two.streams.deadLetters('poison', 'g');
      expect(items).toHaveLength(1);
      return items;
    });
    expect(letter).toMatchObject({ payload: 'p', attemptsMade: 2 });
    expect(attempts).toEqual([1, 2]);
    gate.open();
    await Promise.all([...victims.map((victim) => victim.stop()), third.close()]);
  });

  it('the signal of a handler that hangs fires when its time is over, and its message is settled', async () => {
    const reasons: unknown[] = [];
    const handled: unknown[] = [];
    const options = group('hangs', 'g', { concurrency: 2, timeoutMs: 100, attempts: 1 });
    const handle = await one.streams.handle(options, ({ payload, signal }) => {
      handled.push(payload);
      if (payload === 'next') return undefined;
      signal.addEventListener('abort', () => reasons.push(signal.reason));
      return new Promise<undefined>(() => undefined);
    });
    await one.streams.publish('hangs', 'hang');
    await one.streams.publish('hangs', 'next');
    await settled('hangs');
    expect(reasons).toEqual([expect.any(TimeoutError)]);
    expect(handled).toEqual(['hang', 'next']);
    await handle.stop();
  });

  it('a session that others made by hand, or that lost its note, is taken over after a lease', async () => {
    const { stream, due, sessions } = one.keys('repaired', 'g');
    const watched = await openBench(client(), { watchEveryMs: 50 }, { prefix: one.prefix });
    // The shortest that its own consumer surely renews where the machine stands still.
    const leaseMs = 4_000;
    for (let i = 0; i < 3; i++) await one.streams.publish('repaired', i);
    await one.raw.xgroup('CREATE', stream, 'g', '0');
    await one.raw.xreadgroup('GROUP', 'g', 'by-hand', 'COUNT', 2, 'STREAMS', stream, '>');
    await one.raw.xreadgroup('GROUP', 'g', 'waiting', 'COUNT', 1, 'STREAMS', stream, '>');
    const seen: unknown[] = [];
    await watched.streams.handle(group('repaired', 'g', { leaseMs }), ({ payload }) => void seen.push(payload));
    await settled('repaired');
    expect([...seen].sort()).toEqual([0, 1, 2]);
    expect(await one.raw.exists(due)).toBe(0);
    const consumers = (await one.raw.call('XINFO', 'CONSUMERS', stream, 'g')) as string[][];
    expect(consumers.map(([, name]) => name)).not.toContain('by-hand');
    expect(await one.raw.zscore(sessions, 'by-hand')).toBeNull();
    await watched.close();
  });

  it.each([true, false])('an outcome that a failover lost is settled again, with ordered: %s', async (ordered) => {
    const stream = `failed-over-${ordered}`;
    const watched = await openBench(client(), { watchEveryMs: 50 }, { prefix: one.prefix });
    const gate = new Gate();
    const seen: unknown[] = [];
    const options = group(stream, 'g', { ordered, leaseMs: 60_000 });
    await watched.streams.handle(options, async ({ payload }) => {
      seen.push(payload);
      if (seen.length === 1) await gate.pass();
    });
    await one.streams.publish(stream, 'first', { key: 'k' });
    await eventually(() => expect(gate.entered).toBe(1));
    const replica = await copyOf(one.raw, Object.values(one.keys(stream, 'g')));
    gate.open();
    await settled(stream);
    await restore(one.raw, replica);
    await one.streams.publish(stream, 'second', { key: 'k' });
    await settled(stream);
    expect(seen).toEqual(ordered ? ['first', 'first', 'second'] : expect.arrayContaining(['first', 'second']));
    expect(seen).toHaveLength(3);
    await watched.close();
  });
});

type Copy = [key: string, value: Buffer | null, ttlMs: number][];

async function copyOf(redis: Redis, keys: readonly string[]): Promise<Copy> {
  const read = async (key: string): Promise<Copy[number]> => [key, await redis.dumpBuffer(key), await redis.pttl(key)];
  return Promise.all(keys.map(read));
}

/** Returns keys to what they were, as a failover to a replica does that was behind. */
async function restore(redis: Redis, copy: Copy): Promise<void> {
  for (const [key, value, ttlMs] of copy) {
    if (value) await redis.restore(key, Math.max(0, ttlMs), value, 'REPLACE');
    else await redis.del(key);
  }
}
