import { Redis } from 'ioredis';
import { startRedis } from 'luanest/testing/servers';
import { Gate } from '../../../test/support/gate';
import { eventually, sleep } from '../../../test/support/wait';
import { Partitions } from '../src/queue/task-codec';
import { openBench, quiet, servers, type Bench } from './support';
import { few } from '../../../test/support/few';

describe.each(few(servers))('a pause on %s', (_, client, partitions) => {
  const benches: Bench[] = [];
  const seen: string[] = [];
  let gate: Gate;

  /** A process with a handler that waits at the gate for tasks named `slow`. */
  async function process(prefix?: string): Promise<Bench> {
    const bench = await openBench(client(), { partitions, leaseMs: 60_000 }, prefix ? { prefix } : {});
    benches.push(bench);
    bench.tasks.handle('quick', (payload) => void seen.push(payload as string));
    bench.tasks.handle('slow', async (payload) => {
      await gate.pass();
      seen.push(payload as string);
    });
    bench.work();
    return bench;
  }
  const ids = (name: string, count: number) =>
    Array.from({ length: count }, (__, i) => ({ name, payload: `${name} ${i}` }));

  beforeEach(() => {
    seen.length = 0;
    gate = new Gate();
  });
  afterEach(async () => {
    gate.open();
    for (const bench of benches.splice(0)) await bench.close();
  });

  it('stops the taking in all processes, lets running tasks end, and a resume goes on', async () => {
    const one = await process();
    const other = await process(one.prefix);
    await one.tasks.scheduleMany(ids('slow', 4));
    await eventually(() => expect(gate.entered).toBe(4));
    await one.tasks.pause();
    // The other process knows it within a round trip of the message.
    await eventually(async () => expect(await other.tasks.stats()).toMatchObject({ paused: true }));
    await sleep(50);
    await other.tasks.scheduleMany(ids('quick', 20));
    gate.open();
    await eventually(async () =>
      expect(await one.tasks.stats()).toMatchObject({ running: 0, waiting: 20, overdue: 20 }),
    );
    await sleep(200);
    expect(seen.filter((what) => what.startsWith('slow'))).toHaveLength(4);
    expect(seen.filter((what) => what.startsWith('quick'))).toEqual([]);
    await other.tasks.resume();
    await eventually(() => expect(seen).toHaveLength(24));
    expect(await one.tasks.stats()).toMatchObject({ paused: false, waiting: 0 });
  });

  it('is there before the processes are', async () => {
    const idle = await openBench(client(), { partitions, work: false });
    benches.push(idle);
    await idle.tasks.pause();
    await idle.tasks.scheduleMany(ids('quick', 3));
    await process(idle.prefix);
    await sleep(300);
    expect(seen).toEqual([]);
    await idle.tasks.resume();
    await eventually(() => expect(seen).toHaveLength(3));
  });

  it('ends if somebody deletes its key, at the next sweep', async () => {
    const bench = await process();
    await bench.tasks.pause();
    // The messages about the pause are over.
    await sleep(500);
    await bench.tasks.schedule('quick', 'after all');
    const { paused } = new Partitions(bench.registry.keySpace('delayed-task'), 'default', partitions);
    expect(await bench.raw.del(paused)).toBe(1);
    await sleep(100);
    expect(seen).toEqual([]);
    await bench.sweep();
    await eventually(() => expect(seen).toEqual(['after all']));
  });

  it('does not hold up a close', async () => {
    const bench = await process();
    await bench.tasks.pause();
    // The message is on its way.
    await sleep(500);
    await bench.tasks.schedule('quick', 'never');
    await bench.close();
    expect(seen).toEqual([]);
  });

  it('holds in its own process although an answer from before it comes later', async () => {
    const bench = await process();
    await bench.tasks.schedule('quick', 'before');
    await eventually(() => expect(seen).toEqual(['before']));
    // Each answer to "is the queue paused?" comes 200 ms after Redis has given it.
    const run = bench.registry.run.bind(bench.registry) as (...all: unknown[]) => Promise<unknown>;
    let reads = 0;
    jest.spyOn(bench.registry, 'run').mockImplementation(async (...all: Parameters<typeof run>) => {
      const answer = await run(...all);
      const { args } = all[1] as { args?: { action?: string } };
      if (args?.action !== 'read') return answer;
      reads++;
      await sleep(200);
      return answer;
    });
    await bench.tasks.resume();
    await eventually(() => expect(reads).toBe(1));
    await bench.tasks.pause();
    // The first answer has come then, and the second one not yet.
    await eventually(() => expect(reads).toBe(2));
    await bench.tasks.schedule('quick', 'during');
    await sleep(150);
    expect(seen).toEqual(['before']);
    await bench.tasks.resume();
    await eventually(() => expect(seen).toEqual(['before', 'during']));
  });

  it('of one queue leaves the others alone', async () => {
    const bench = await openBench(client(), { partitions, queues: { other: {} } });
    benches.push(bench);
    for (const queue of ['default', 'other']) {
      bench.tasks.queue(queue).handle('quick', () => void seen.push(queue));
    }
    bench.work();
    await bench.tasks.queue('other').pause();
    await eventually(async () => expect((await bench.tasks.queue('other').stats()).paused).toBe(true));
    await sleep(50);
    for (const queue of ['default', 'other']) await bench.tasks.schedule('quick', null, { queue });
    await eventually(() => expect(seen).toEqual(['default']));
    expect(await bench.tasks.stats()).toMatchObject({ paused: false });
  });
});

it('a pause that ends while the channel is cut off is noticed', async () => {
  // Other test files have connections to the shared server, too.
  const server = await startRedis();
  try {
    const bench = await openBench(quiet(new Redis(server.port)), { partitions: 1, leaseMs: 60_000 });
    const { raw, tasks } = bench;
    const seen: unknown[] = [];
    tasks.handle('quick', (payload) => void seen.push(payload));
    bench.work();
    await tasks.pause();
    await tasks.schedule('quick', 'late');
    await sleep(100);
    await raw.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await tasks.resume();
    await eventually(() => expect(seen).toEqual(['late']));
    await bench.close();
  } finally {
    await server.stop();
  }
});
