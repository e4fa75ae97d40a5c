import fc from 'fast-check';
import {
  acknowledgeTasks,
  failTask,
  releaseTasks,
  renewTasks,
  sweepTasks,
  takeTasks,
} from '../src/worker/worker.scripts';
import type { Partition } from '../src/queue/task-codec';
import { command, IDS, MAX_ATTEMPTS, Model, play, type Command, type Task } from './model';
import { inventory, openBench, servers, takeCall, type Bench } from './support';
import { size } from '../../../test/support/size';

const HOUR = 3_600_000;
describe.each(servers)('random orders of calls on %s', (_name, client) => {
  let bench: Bench;
  let rounds = 0;
  beforeAll(async () => {
    bench = await openBench(client(), { work: false, attempts: MAX_ATTEMPTS });
  });
  afterAll(() => bench.close());

  const all = (): Partition => bench.partitions[0] as Partition;

  async function call(given: Command, model: Model, token: string): Promise<unknown> {
    const { verb, id, soon, onConflict, holder } = given;
    const { registry, tasks } = bench;
    const keys = all();
    const time = { delayMs: soon ? 0 : HOUR };
    const args = { pairs: [id, model.of(id).held[holder] ?? 'nobody'] };
    const batch = ({ done, lost }: { done: number; lost: readonly number[] }): unknown => [done, ...lost];
    const { due, leased, tasks: records, runs, dead, waits, lines, heads } = keys;
    switch (verb) {
      case 'schedule':
        return (await tasks.schedule('t', soon, { id, onConflict, ...time })).status;
      case 'cancel':
        return tasks.cancel(id);
      case 'give-up':
        return tasks.cancel(id, { evenRunning: true });
      case 'reschedule':
        return (await tasks.reschedule(id, time)).status;
      case 'take': {
        const call = takeCall(keys, `model-${holder}`, { token, limit: 10, leaseMs: HOUR });
        const found = await registry.run(takeTasks, call);
        return found.tasks.map((task) => `${task.id} ${task.attempt}`).sort();
      }
      case 'acknowledge':
        return batch(await registry.run(acknowledgeTasks, { keys: { leased, tasks: records, runs, waits }, args }));
      case 'fail':
      case 'bury':
        return registry.run(failTask, {
          keys: { due, leased, tasks: records, runs, dead, waits },
          args: {
            id,
            token: args.pairs[1] as string,
            delayMs: time.delayMs,
            verdict: verb === 'bury' ? 'dead-letter' : 'retry',
            error: 'x',
          },
        });
      case 'release':
        return batch(await registry.run(releaseTasks, { keys: { due, leased, runs, waits }, args }));
      case 'renew':
        return batch(await registry.run(renewTasks, { keys: { leased, runs }, args: { ...args, leaseMs: HOUR } }));
      case 'expire':
        return bench.raw.zadd(leased, 'XX', '1', id);
      case 'replay':
        return (await tasks.replay([id])) === 1 ? 'replayed' : 'unknown';
      case 'drop':
        return (await tasks.drop([id])) === 1 ? 'dropped' : 'unknown';
      case 'sweep':
        return registry.run(sweepTasks, {
          keys: { due, leased, tasks: records, runs, dead, waits, lines, heads },
          args: { retentionMs: HOUR, leaseMs: HOUR, taskCursor: '0', runCursor: '0', count: 64 },
        });
    }
  }

  async function compare(model: Model): Promise<void> {
    const found = await inventory(bench);
    expect(found.problems).toEqual([]);
    const placed = (...states: Task['state'][]): string[] => IDS.filter((id) => states.includes(model.of(id).state));
    expect([found.due.sort(), found.leased.sort(), found.dead.sort()]).toEqual([
      placed('due'),
      placed('leased', 'expired'),
      placed('dead'),
    ]);
    for (const id of IDS) {
      const view = await bench.tasks.get(id);
      if (model.of(id).state === 'none') expect(view).toBeUndefined();
      else expect([id, view?.attemptsMade]).toEqual([id, model.of(id).attempt]);
    }
  }

  it('return the same as the model, and leave no orphan and no task in two places', async () => {
    const property = fc.asyncProperty(
      fc.array(command, { minLength: 12, maxLength: 40, size: 'max' }),
      async (commands) => {
        await bench.raw.del(...keysOf(all()));
        const model = new Model();
        rounds += 1;
        for (const [at, given] of commands.entries()) {
          const token = `take-${rounds}-${at}`;
          // Who holds what is as it was before the command.
          const got = await call(given, model, token);
          const want = play(model, given, token);
          if (want !== undefined) expect([at, given.verb, got]).toEqual([at, given.verb, want]);
          await compare(model);
        }
        // Every task has an end: dead ones by their retention, the others by being done.
        for (let left = 0; left < 5; left++) {
          for (const id of (await inventory(bench)).leased) await bench.raw.zadd(all().leased, 'XX', '1', id);
          for (const id of (await inventory(bench)).due) await bench.tasks.reschedule(id, { delayMs: 0 });
          const ask = { token: `end-${rounds}-${left}`, limit: 10, leaseMs: HOUR };
          const { tasks } = await bench.registry.run(takeTasks, takeCall(all(), 'end', ask));
          const pairs = tasks.flatMap(({ id }) => [id, ask.token]);
          const { leased, tasks: records, runs, waits } = all();
          if (pairs.length === 0) continue;
          await bench.registry.run(acknowledgeTasks, {
            keys: { leased, tasks: records, runs, waits },
            args: { pairs },
          });
        }
        const { due, leased, tasks: records, runs, dead, waits, lines, heads } = all();
        await bench.raw.eval(
          "for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do redis.call('ZADD', KEYS[1], 1, id) end",
          1,
          dead,
        );
        await bench.registry.run(sweepTasks, {
          keys: { due, leased, tasks: records, runs, dead, waits, lines, heads },
          args: { retentionMs: HOUR, leaseMs: HOUR, taskCursor: '0', runCursor: '0', count: 64 },
        });
        for (const key of [due, leased, records, runs, dead]) expect(await bench.raw.exists(key)).toBe(0);
      },
    );
    await fc.assert(property, { numRuns: size(3, 150) });
    // What else was written has a TTL.
    expect(await bench.raw.pttl(all().waits)).not.toBe(-1);
    expect(await bench.raw.pttl(all().taken('end'))).not.toBe(-1);
  }, 180_000);
});

function keysOf({ due, leased, tasks, runs, dead, waits }: Partition): string[] {
  return [due, leased, tasks, runs, dead, waits];
}
