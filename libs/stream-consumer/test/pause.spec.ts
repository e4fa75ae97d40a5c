import { deadLetter, defineStream, retryLater } from 'luanest/stream-consumer';
import { Gate } from '../../../test/support/gate';
import { eventually, sleep } from '../../../test/support/wait';
import { define, group, openBench, servers, type Bench } from './support';
import { few } from '../../../test/support/few';

describe.each(few(servers))('a pause of a group on %s', (_, client) => {
  const benches: Bench[] = [];
  const seen: string[] = [];
  let gate: Gate;

  async function open(prefix?: string, options = {}): Promise<Bench> {
    const bench = await openBench(client(), { partitions: 2, ...options }, prefix === undefined ? {} : { prefix });
    benches.push(bench);
    return bench;
  }

  /** A process with a handler that waits at the gate for messages that begin with `slow`. */
  async function consume(prefix?: string, name = 'g'): Promise<Bench> {
    const bench = await open(prefix);
    await bench.streams.handle(group('s', name), async ({ payload }) => {
      if (String(payload).startsWith('slow')) await gate.pass();
      seen.push(`${name} ${String(payload)}`);
    });
    return bench;
  }

  async function publish({ streams }: Bench, name: string, count: number): Promise<void> {
    await streams.publishMany(
      's',
      Array.from({ length: count }, (__, i) => ({ payload: `${name} ${i}` })),
    );
  }

  /** Waits until the message about a change of the pause has arrived in all processes. */
  const heard = () => sleep(300);

  beforeEach(() => {
    seen.length = 0;
    gate = new Gate();
  });
  afterEach(async () => {
    gate.open();
    for (const bench of benches.splice(0)) await bench.close();
  });

  it('stops all processes, lets running handlers end, and a resume goes on without loss', async () => {
    const one = await consume();
    const other = await consume(one.prefix);
    await publish(one, 'slow', 4);
    await eventually(() => expect(gate.entered).toBe(4));
    await one.streams.pause('s', 'g');
    await heard();
    await publish(other, 'quick', 20);
    gate.open();
    await eventually(async () =>
      expect(await other.streams.stats('s', 'g')).toMatchObject({ paused: true, pending: 0, lag: 20 }),
    );
    await sleep(200);
    expect(seen).toHaveLength(4);
    await other.streams.resume('s', 'g');
    await eventually(() => expect(seen).toHaveLength(24));
    await eventually(async () => expect(await one.streams.stats('s', 'g')).toMatchObject({ paused: false, length: 0 }));
    expect(new Set(seen).size).toBe(24);
  });

  it('is there before the group is, and leaves other groups alone', async () => {
    const idle = await open();
    await idle.streams.pause('s', 'g');
    await consume(idle.prefix);
    await consume(idle.prefix, 'other');
    await publish(idle, 'quick', 3);
    await eventually(() => expect(seen).toHaveLength(3));
    await heard();
    expect(seen.every((text) => text.startsWith('other'))).toBe(true);
    expect(await idle.streams.stats('s', 'other')).toMatchObject({ paused: false });
    await idle.streams.resume('s', 'g');
    await eventually(() => expect(seen).toHaveLength(6));
  });

  it('holds retries and takeovers back', async () => {
    const one = await open();
    const { streams } = one;
    let attempts = 0;
    const consumer = await streams.handle(group('s', 'g'), async () => {
      attempts += 1;
      await gate.pass();
      return retryLater({ delayMs: 0 });
    });
    await streams.publish('s', 'again');
    await eventually(() => expect(gate.entered).toBe(1));
    await streams.pause('s', 'g');
    await heard();
    gate.open();
    await eventually(async () => expect(await streams.stats('s', 'g')).toMatchObject({ due: 1 }));
    const other = await consume(one.prefix);
    await heard();
    expect([attempts, seen]).toEqual([1, []]);
    await consumer.stop();
    await other.streams.resume('s', 'g');
    await eventually(() => expect(seen).toEqual(['g again']));
  });

  it('is written again by consumers if Redis has lost it, and not after its end', async () => {
    const bench = await openBench(client(), { watchEveryMs: 100 });
    benches.push(bench);
    const { streams, raw, registry } = bench;
    const config = registry.keySpace('stream-consumer').tag('s').key('config');
    await streams.handle(group('s', 'g'), () => deadLetter('seen'));
    await streams.pause('s', 'g');
    await heard();
    await raw.del(config);
    await streams.publish('s', 'm');
    await eventually(async () => expect(await raw.hget(config, 'paused:g')).toBe('1'));
    expect(await streams.stats('s', 'g')).toMatchObject({ paused: true, dead: 0, lag: 1 });
    await streams.resume('s', 'g');
    await eventually(async () => expect(await streams.stats('s', 'g')).toMatchObject({ paused: false, dead: 1 }));
    await heard();
    await raw.del(config);
    await eventually(async () => expect(await raw.hget(config, 'group:g')).toBe('1'));
    expect(await raw.hget(config, 'paused:g')).toBeNull();
  });

  it('ends with its group', async () => {
    const { streams } = await open();
    const consumer = await streams.handle(group('s', 'g'), () => undefined);
    await streams.pause('s', 'g');
    await heard();
    await consumer.stop();
    expect(await streams.removeGroup('s', 'g')).toBe(true);
    await streams.handle(group('s', 'g'), ({ payload }) => void seen.push(String(payload)));
    await streams.publish('s', 'm');
    await eventually(() => expect(seen).toEqual(['m']));
  });

  it('works on a stream of another program, too', async () => {
    const bench = await open();
    const { streams, raw, prefix } = bench;
    const key = `${prefix}:theirs`;
    define(streams, defineStream({ name: 'theirs', keys: [key] }));
    await raw.xadd(key, '*', 'n', '1');
    await streams.pause('theirs', 'g');
    await streams.handle(group('theirs', 'g', { pollMs: 20 }), ({ payload }) => {
      seen.push((payload as { n: string }).n);
    });
    await heard();
    expect(seen).toEqual([]);
    expect(await streams.stats('theirs', 'g')).toMatchObject({ paused: true, lag: 1 });
    await streams.resume('theirs', 'g');
    await eventually(() => expect(seen).toEqual(['1']));
    await streams.pause('theirs', 'g');
    await heard();
    await raw.del(bench.registry.keySpace('stream-consumer').tag('theirs').key('config'));
    await raw.xadd(key, '*', 'n', '2');
    // A consumer that starts later finds no pause; the other one writes it again at its next look.
    const consumers = streams['consumers']['active']();
    await Promise.all(consumers.map((consumer) => consumer.openPartitions()));
    expect(await streams.stats('theirs', 'g')).toMatchObject({ paused: true });
    expect(seen).toEqual(['1']);
    await streams.removeGroup('theirs', 'g');
    expect(await streams.stats('theirs', 'g')).toMatchObject({ paused: false });
  });

  it('refuses names that no group can have', async () => {
    const { streams } = await open();
    await expect(streams.pause('s', 'a b')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await expect(streams.resume('s', '')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });
});
