import { Redis } from 'ioredis';
import { DelayedTaskService } from 'luanest/delayed-task';
import { RedPacketService } from 'luanest/red-packet';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { CommandWatcher } from '../../../test/support/command-watcher';
import { size } from '../../../test/support/size';
import { eventually } from '../../../test/support/wait';
import { resolveOptions as resolveTasks } from '../../delayed-task/src/delayed-task.options';
import { delayedTaskScripts } from '../../delayed-task/src/delayed-task.scripts';
import { resolveOptions } from '../src/red-packet.options';
import { figures, openBench, quiet, QUICK, type Bench } from './support';

const ACTIVITIES = size(200, 10_000);

describe('a process that starts', () => {
  let server: RedisServer;
  const closing: (() => unknown)[] = [];

  beforeAll(async () => {
    server = await startRedis();
  });
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });
  afterAll(() => server.stop());

  /** A process as an app with all modules is one. */
  async function start(): Promise<{ readonly bench: Bench; readonly packets: RedPacketService }> {
    const bench = await openBench(quiet(new Redis(server.port)), { prefix: 'start' });
    bench.registry.register(delayedTaskScripts);
    const tasks = new DelayedTaskService(bench.registry, resolveTasks({}));
    const options = resolveOptions({ identity: () => undefined, onClosed: () => undefined });
    const packets = new RedPacketService(bench.registry, options, { tasks });
    await packets.onModuleInit();
    await tasks.onModuleInit();
    tasks.onApplicationBootstrap();
    const run = bench.payouts.run(() => undefined, QUICK);
    closing.push(
      () => bench.close(),
      () => tasks.beforeApplicationShutdown(),
      () => run.stop(),
    );
    return { bench, packets };
  }

  it('sends no command about the activities that are open, however many', async () => {
    const first = await start();
    const outboxes = first.bench.activities.layouts.outboxes;
    for (let from = 0; from < ACTIVITIES; from += 100) {
      const ids = Array.from({ length: Math.min(100, ACTIVITIES - from) }, (_, i) => `idle-${from + i}`);
      await Promise.all(ids.map((id) => first.packets.create(figures(id, 2))));
    }
    for (const close of closing.splice(0).reverse()) await close();

    const watcher = await CommandWatcher.open(server.port);
    closing.push(() => watcher.close());
    const { bench } = await start();
    // The run reads each outbox as it begins.
    const reads = (outbox: string) => watcher.commands.filter(({ args }) => args.includes(outbox)).length;
    await eventually(() => outboxes.forEach((outbox) => expect(reads(outbox)).toBeGreaterThan(0)));
    expect(watcher.commands.filter(({ args }) => args.some((arg) => arg.includes('idle-')))).toEqual([]);
    // Not those of scripts: sweeps of delayed-task check pages of the closing tasks.
    expect(watcher.commands.filter(({ from }) => from !== 'lua').length).toBeLessThan(500);
    expect(await bench.packets.activities()).toHaveLength(ACTIVITIES);
  });
});
