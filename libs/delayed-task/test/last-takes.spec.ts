import { DelayedTaskService, type DelayedTaskModuleOptions } from 'luanest/delayed-task';
import { FakeRegistry, type ScriptCall } from '../../../test/support/fake-registry';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { stateOf } from '../../../test/support/replies';
import { resolveOptions } from '../src/delayed-task.options';

describe('a take that is in flight when the app closes', () => {
  const time = new ManualTime();

  /** Starts a worker of one partition, whose first take is in flight then. */
  async function open(options: DelayedTaskModuleOptions = {}) {
    const registry = new FakeRegistry();
    const tasks = new DelayedTaskService(registry.asRegistry, resolveOptions(options));
    const begun: string[] = [];
    tasks.handle('mail', (_payload, { id }) => void begun.push(id));
    tasks.onApplicationBootstrap();
    await turn();
    // A worker takes nothing before it knows that the queue is not paused.
    expect(registry.scripts).toEqual(['delayed-task.pause']);
    registry.calls.shift()?.reply.resolve(false);
    await turn();
    expect(registry.scripts).toEqual(['delayed-task.take']);
    return { registry, tasks, begun };
  }

  /** Gives a take its reply: it has leased these tasks. */
  async function take({ reply }: ScriptCall, ids: readonly string[]): Promise<void> {
    const leased = ids.map((id) => ({ id, record: '5\n0\n100 2 1000\nmail\n{}', attempt: 1, runAtMs: 90 }));
    reply.resolve({ now: 100, nextAt: 0, buried: [], tasks: leased });
    await turn();
  }

  const released = ({ script, args }: ScriptCall): unknown => [script, args.pairs];

  it('hands its tasks back, and no handler begins', async () => {
    const { registry, tasks, begun } = await open();
    const taking = registry.last;
    const closed = tasks.beforeApplicationShutdown() as Promise<void>;
    await take(taking, ['a', 'b']);
    const { token } = taking.args;
    expect(registry.calls.slice(1).map(released)).toEqual([['delayed-task.release', ['a', token, 'b', token]]]);
    expect(await stateOf(closed)).toBe('pending');
    registry.last.reply.resolve(undefined);
    await closed;
    expect([registry.calls.length, begun, time.running]).toEqual([2, [], []]);
  });

  it('hands its tasks back, also if two takes are in flight', async () => {
    const { registry, tasks, begun } = await open({ concurrency: 32 });
    const due = Array.from({ length: 16 }, (_, i) => `due-${i}`);
    await take(registry.last, due);
    const [acknowledged, ...takes] = registry.calls.slice(1).sort((a, b) => (a.script < b.script ? -1 : 1));
    expect([acknowledged?.script, ...takes.map(({ script }) => script)]).toEqual([
      'delayed-task.acknowledge',
      'delayed-task.take',
      'delayed-task.take',
    ]);
    const closed = tasks.beforeApplicationShutdown() as Promise<void>;
    acknowledged?.reply.resolve({ lost: [] });
    for (const [i, taking] of takes.entries()) await take(taking, [`late-${i}`]);
    const releases = registry.calls.slice(4);
    expect(releases.map(released)).toEqual(
      takes.map(({ args }, i) => ['delayed-task.release', [`late-${i}`, args.token]]),
    );
    for (const { reply } of releases) reply.resolve(undefined);
    await closed;
    expect(begun).toEqual(due);
  });

  it('hands its tasks back, also if it ends up to 2 s after drainMs', async () => {
    const { registry, tasks, begun } = await open({ drainMs: 100, abortGraceMs: 50 });
    const taking = registry.last;
    const closed = tasks.beforeApplicationShutdown() as Promise<void>;
    await time.pass(2_000);
    expect(await stateOf(closed)).toBe('pending');
    await take(taking, ['a']);
    expect(released(registry.last)).toEqual(['delayed-task.release', ['a', taking.args.token]]);
    registry.last.reply.resolve(undefined);
    await closed;
    expect(begun).toEqual([]);
  });

  it('is given up 2 s after drainMs, after which nothing is sent', async () => {
    const { registry, tasks, begun } = await open({ drainMs: 100, abortGraceMs: 50 });
    const closed = tasks.beforeApplicationShutdown() as Promise<void>;
    await time.pass(2_150);
    expect(await stateOf(closed)).toBeUndefined();
    await take(registry.last, ['a']);
    expect([registry.calls.length, begun, time.running]).toEqual([1, [], []]);
  });
});
