import { DelayedTaskService } from 'luanest/delayed-task';
import { FakeRegistry } from '../../../test/support/fake-registry';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { resolveOptions } from '../src/delayed-task.options';

describe('handlers that are added after the boot', () => {
  const time = new ManualTime();

  it('share one loop for each partition, and nothing of it is left after the shutdown', async () => {
    const registry = new FakeRegistry();
    const tasks = new DelayedTaskService(registry.asRegistry, resolveOptions({ partitions: 2 }));
    tasks.onApplicationBootstrap();
    expect([registry.calls, time.running]).toEqual([[], []]);
    tasks.handle('a', () => undefined);
    const timers = time.running.length;
    tasks.handle('b', () => undefined);
    await turn();
    // A worker takes nothing before it knows that the queue is not paused.
    expect(registry.scripts).toEqual(['delayed-task.pause']);
    registry.calls.shift()?.reply.resolve(false);
    await turn();
    expect(registry.scripts).toEqual(['delayed-task.take', 'delayed-task.take']);
    expect(time.running).toHaveLength(timers);
    const closed = tasks.beforeApplicationShutdown();
    for (const { reply } of registry.calls) reply.resolve({ now: 0, nextAt: 0, buried: [], tasks: [] });
    await closed;
    expect([registry.calls.length, time.running]).toEqual([2, []]);
  });
});
