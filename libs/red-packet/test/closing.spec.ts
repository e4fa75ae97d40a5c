import { Logger } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { DelayedTaskService } from 'luanest/delayed-task';
import { RedPacketService, type CloseResult } from 'luanest/red-packet';
import { size } from '../../../test/support/size';
import { few } from '../../../test/support/few';
import { eventually } from '../../../test/support/wait';
import { resolveOptions as resolveTasks } from '../../delayed-task/src/delayed-task.options';
import { delayedTaskScripts } from '../../delayed-task/src/delayed-task.scripts';
import { openRegistry } from '../../script-registry/test/support';
import { beginActivity } from '../src/activity/activity.scripts';
import { resolveOptions } from '../src/red-packet.options';
import { redPacketScripts } from '../src/red-packet.scripts';
import {
  before,
  beginArgs,
  figures,
  openBench,
  packetOf,
  payAll,
  quiet,
  redisNow,
  servers,
  type Bench,
} from './support';

interface Node {
  readonly packets: RedPacketService;
  readonly tasks: DelayedTaskService;
  stop(): Promise<void>;
}

describe.each(few(servers))('the end of an activity on %s', (_name, connect) => {
  let bench: Bench;
  const nodes: Node[] = [];
  const reported: CloseResult[] = [];
  let onClosed: (closed: CloseResult) => void | Promise<void> = () => undefined;

  /** A process as an app with DelayedTaskModule is one. */
  async function node(work = true, retentionMs = 60_000, listens = true): Promise<Node> {
    const client = quiet(connect());
    const registry = await openRegistry(client, { preload: 'required', prefix: bench.prefix }, [
      ...redPacketScripts,
      ...delayedTaskScripts,
    ]);
    const tasks = new DelayedTaskService(registry, resolveTasks({ work, leaseMs: 30_000 }));
    const listener = (closed: CloseResult): void | Promise<void> => {
      reported.push(closed);
      return onClosed(closed);
    };
    const options = {
      ...resolveOptions({ identity: () => undefined, ...(listens && { onClosed: listener }) }),
      retentionMs,
    };
    const packets = new RedPacketService(registry, options, { tasks });
    await packets.onModuleInit();
    await tasks.onModuleInit();
    tasks.onApplicationBootstrap();
    const stop = async (): Promise<void> => {
      await tasks.beforeApplicationShutdown();
      packets.onApplicationShutdown();
      registry.close();
      client.disconnect();
    };
    const made = { packets, tasks, stop };
    nodes.push(made);
    return made;
  }

  beforeEach(async () => {
    bench = await openBench(connect());
    reported.length = 0;
    onClosed = () => undefined;
  });
  afterEach(async () => {
    await Promise.all(nodes.splice(0).map((each) => each.stop()));
    bench.close();
  });

  const taskOf = (id: string): string => `red-packet.close:${createHash('sha256').update(id).digest('hex')}`;
  const reportsOf = (id: string): CloseResult[] => reported.filter(({ activityId }) => activityId === id);

  it.each([1, 4])('closes and refunds once, whichever of three nodes does it (%i buckets)', async (buckets) => {
    const [one, two] = [await node(), await node(), await node()];
    // Several, if the machine was too slow for the first.
    const made: string[] = [];
    const id = await before(bench, 700, async (endsAtMs, turn) => {
      const name = `end-${buckets}-${turn}`;
      made.push(name);
      const activity = { ...figures(name, 40), buckets, endsAtMs };
      await one?.packets.create(activity);
      // Asked for again, and from elsewhere: still one end.
      await two?.packets.create(activity);
      for (let i = 0; i < 15; i++) packetOf(await one?.packets.grab(name, `u${i}`));
      expect(reportsOf(name)).toEqual([]);
      return name;
    });
    await eventually(() => expect(reportsOf(id).length).toBeGreaterThan(0));
    expect(reportsOf(id)).toEqual([expect.objectContaining({ activityId: id, refundedPackets: 25 })]);
    await Promise.all(nodes.map(({ packets }) => packets.close(id)));
    const status = await bench.packets.status(id);
    expect(status).toMatchObject({ state: 'closed', grantedPackets: 15, refundedPackets: 25, remainingPackets: 0 });
    expect((status?.grantedCents ?? 0) + (status?.refundedCents ?? 0)).toBe(4_000);
    expect(await bench.packets.audit(id, { deep: true })).toMatchObject({ ok: true });
    // The closing task ends a moment after it has called onClosed. The settling task waits until the winners are paid.
    await eventually(
      async () => {
        const stats = await one?.tasks.stats();
        expect(stats).toMatchObject({ running: 0, dead: 0 });
        if (made.length === 1) expect(stats?.waiting).toBe(1);
        else expect(stats?.waiting).toBeGreaterThan(0);
      },
      { timeoutMs: 60_000 },
    );
    expect((await payAll(bench, id)).map(({ packetId, attempt }) => `${packetId}, attempt ${attempt}`)).toHaveLength(
      15,
    );
    for (const slow of made.slice(0, -1)) await payAll(bench, slow);
    await eventually(async () => expect(await bench.packets.status(id)).toMatchObject({ settled: true }), {
      timeoutMs: 15_000,
    });
    await eventually(async () => expect(await one?.tasks.stats()).toMatchObject({ waiting: 0, running: 0, dead: 0 }), {
      timeoutMs: 60_000,
    });
  });

  it('comes though the queue has lost its task, once the activity was created again', async () => {
    const { packets, tasks } = await node();
    const [activity, id] = await before(bench, 1_000, async (endsAtMs, turn) => {
      const made = { ...figures(`forgotten-${turn}`, 7), endsAtMs };
      await packets.create(made);
      const task = taskOf(made.activityId);
      expect(await tasks.cancel(task)).toBe('cancelled');
      expect(await packets.create(made)).toMatchObject({ created: false });
      return [made, task];
    });
    await eventually(() => expect(reportsOf(activity.activityId)).toMatchObject([{ refundedPackets: 7 }]));
    await eventually(async () => expect(await tasks.get(id)).toBeUndefined());
    // Closed, it has nothing to come.
    expect(await packets.create(activity)).toMatchObject({ created: false });
    expect(await tasks.get(id)).toBeUndefined();
  });

  it('clocks of apps that are ten minutes off change nothing', async () => {
    const real = Date.now;
    for (const [side, off] of Object.entries({ ahead: 600_000, behind: -600_000 })) {
      const clock = jest.spyOn(Date, 'now').mockImplementation(() => real() + off);
      try {
        const { packets } = await node();
        const [name, ends] = await before(bench, 600, async (endsAtMs, turn) => {
          const id = `${side}-${turn}`;
          await packets.create({ ...figures(id, 3), startsAtMs: (await redisNow(bench)) - 10, endsAtMs });
          expect(await packets.grab(id, 'u')).toMatchObject({ status: 'won' });
          return [id, endsAtMs];
        });
        await eventually(() => expect(reportsOf(name)).toHaveLength(1));
        expect(await redisNow(bench)).toBeGreaterThanOrEqual(ends);
        expect(reportsOf(name)).toMatchObject([{ refundedPackets: 2 }]);
      } finally {
        clock.mockRestore();
      }
    }
  });

  it('calls onClosed with the same refunds until it resolves', async () => {
    const { packets } = await node();
    let failures = 0;
    onClosed = () => {
      if ((failures += 1) < 3) throw new Error('the bank is unavailable');
    };
    await before(bench, 200, (endsAtMs) => packets.create({ ...figures('heard', 5), endsAtMs }));
    await eventually(() => expect(failures).toBe(3), { timeoutMs: 15_000 });
    expect(reportsOf('heard').map(({ refundedPackets }) => refundedPackets)).toEqual([5, 5, 5]);
    expect(reportsOf('heard').map(({ closed }) => closed)).toEqual([true, false, false]);
  });

  it('a task that comes early, as by the clock of another node, waits for the end', async () => {
    const { packets, tasks } = await node();
    const logged = [jest.spyOn(Logger.prototype, 'warn'), jest.spyOn(Logger.prototype, 'error')];
    const id = await before(bench, 1_500, async (endsAtMs, turn) => {
      const name = `early-${turn}`;
      await packets.create({ ...figures(name, 3), endsAtMs });
      expect(await tasks.reschedule(taskOf(name), { delayMs: 0 })).toMatchObject({ status: 'rescheduled' });
      await sleep(300);
      expect(await packets.status(name)).toMatchObject({ state: 'open', refundedPackets: 0 });
      return name;
    });
    await eventually(() => expect(reportsOf(id)).toMatchObject([{ refundedPackets: 3, closed: true }]), {
      timeoutMs: 15_000,
    });
    // Nothing is wrong, so nothing is logged.
    for (const spy of logged) {
      expect(spy.mock.calls).toEqual([]);
      spy.mockRestore();
    }
  });

  it('reports an activity that was closed by hand at its end, with its refunds', async () => {
    const { packets } = await node();
    const id = await before(bench, 400, async (endsAtMs, turn) => {
      const name = `before-${turn}`;
      await packets.create({ ...figures(name, 4), endsAtMs });
      expect(await packets.close(name)).toMatchObject({ closed: true, refundedPackets: 4 });
      return name;
    });
    await eventually(() => expect(reportsOf(id)).toMatchObject([{ closed: false, refundedPackets: 4 }]));
  });

  it('waits for a draft whose pool is being filled at its end, and calls onClosed once', async () => {
    const { packets } = await node();
    const packetsOfSlow = size(30_000, 200_000);
    // Preheating so many takes longer than the activity lasts; it must have begun before that is over.
    const activity = await before(bench, 60, async (endsAtMs) => {
      const slow = { ...figures('slow', packetsOfSlow), endsAtMs };
      await packets.create(slow);
      expect(await redisNow(bench)).toBeGreaterThan(endsAtMs);
      return slow;
    });
    await eventually(() => expect(reportsOf('slow').length).toBeGreaterThan(0), { timeoutMs: 20_000 });
    expect(reportsOf('slow')).toMatchObject([{ closed: true, refundedPackets: packetsOfSlow }]);
    expect(await packets.status('slow')).toMatchObject({ state: 'closed', remainingPackets: 0 });
    await packets.create(activity);
    await sleep(300);
    expect(reportsOf('slow')).toHaveLength(1);
  });

  it('finishes a draft of several buckets after its end and closes it, but not after its retention', async () => {
    const { packets } = await node();
    // As after a crash behind the first step of a creation.
    const [late, tooLate] = await before(bench, 300, (endsAtMs, turn) =>
      Promise.all(
        Object.entries({ late: 60_000, 'too-late': 2 }).map(async ([name, retentionMs]) => {
          const activity = { ...figures(`${name}-${turn}`, 4), buckets: 2, endsAtMs };
          const root = { buckets: 2, bucket: -1, endsAtMs, retentionMs, reports: 1 };
          const args = { ...beginArgs(activity, 'a'.repeat(32)), ...root };
          const begun = await bench.registry.run(beginActivity, { keys: bench.keysOf(activity.activityId), args });
          expect(begun.status).toBe('begun');
          return activity;
        }),
      ),
    );
    if (late === undefined || tooLate === undefined) throw new Error('There are no drafts.');
    await eventually(async () => expect(await redisNow(bench)).toBeGreaterThan(late.endsAtMs + 2));
    await expect(packets.create(tooLate)).rejects.toThrow(/^endsAtMs is /);
    expect(await packets.create(late)).toMatchObject({ created: true });
    await eventually(() => expect(reportsOf(late.activityId)).toMatchObject([{ closed: true, refundedPackets: 4 }]), {
      timeoutMs: 15_000,
    });
    expect(await packets.audit(late.activityId, { deep: true })).toMatchObject({ ok: true, state: 'closed' });
  });

  it('calls onClosed again, with the sum, when a payout turns into a refund later', async () => {
    const { packets } = await node();
    const [id, won] = await before(bench, 400, async (endsAtMs, turn) => {
      const name = `later-${turn}`;
      await packets.create({ ...figures(name, 4), endsAtMs });
      return [name, packetOf(await packets.grab(name, 'u'))];
    });
    await eventually(() => expect(reportsOf(id)).toMatchObject([{ refundedPackets: 3 }]));
    const paid = { packetId: won.packetId === '1' ? '2' : '1', amountCents: 5, grantedAtMs: 1 };
    await packets.conflict(id, { userId: 'u', packetId: won.packetId, paid });
    await eventually(() => expect(reportsOf(id)).toMatchObject([{ refundedPackets: 3 }, { refundedPackets: 4 }]));
  });

  it.each([1, 2])('keeps an activity past its retention until onClosed has resolved (%i buckets)', async (buckets) => {
    const { packets } = await node(true, 600);
    let fails = true;
    onClosed = () => {
      if (fails) throw new Error('the bank is unavailable');
    };
    const id = await before(bench, 300, async (endsAtMs, turn) => {
      const name = `unreported-${buckets}-${turn}`;
      await packets.create({ ...figures(name, 4), buckets, endsAtMs });
      return name;
    });
    await eventually(async () => expect(await packets.status(id)).toMatchObject({ state: 'closed', overdue: true }));
    expect(await packets.settle(id)).toBe(false);
    expect(await packets.status(id)).toMatchObject({ settled: false, unreportedPackets: 4 });
    fails = false;
    const calls = reportsOf(id).length;
    // Reports again, as after a call that died between closing and reporting.
    expect(await packets.close(id)).toMatchObject({ closed: false, refundedPackets: 4 });
    await eventually(() => expect(reportsOf(id).length).toBeGreaterThan(calls), { timeoutMs: 15_000 });
    await eventually(async () => expect(await packets.status(id)).toBeUndefined(), { timeoutMs: 15_000 });
  });

  it('does not take a refund as reported by a process without onClosed', async () => {
    const { packets } = await node(false);
    const without = await node(true, 60_000, false);
    const logged = jest.spyOn(Logger.prototype, 'error');
    const id = await before(bench, 300, async (endsAtMs, turn) => {
      const name = `deaf-${turn}`;
      await packets.create({ ...figures(name, 4), endsAtMs });
      return name;
    });
    await eventually(async () => expect(await packets.status(id)).toMatchObject({ state: 'closed' }));
    await eventually(async () =>
      expect(await without.tasks.get(taskOf(id))).toMatchObject({ error: expect.stringContaining('onClosed') }),
    );
    const named = logged.mock.calls.filter(([text]) => String(text).includes('Set onClosed in all processes.'));
    expect(named).toHaveLength(1);
    logged.mockRestore();
    await without.stop();
    await node();
    await eventually(() => expect(reportsOf(id)).toMatchObject([{ refundedPackets: 4 }]), { timeoutMs: 15_000 });
    await eventually(async () =>
      expect(await packets.status(id)).toMatchObject({ settled: true, unreportedPackets: 0 }),
    );
  });

  it('onClosed without tasks is refused at boot', async () => {
    const options = {
      ...resolveOptions({ identity: () => undefined, onClosed: () => undefined }),
      retentionMs: 60_000,
    };
    await expect(new RedPacketService(bench.registry, options).onModuleInit()).rejects.toThrow(/DelayedTaskModule/);
  });

  it.each([1, 2])(
    'an activity without an end is closed at its default end, and its refund is reported (%i buckets)',
    async (buckets) => {
      // An end half of this retention after the creation.
      const { packets } = await node(true, 3_000);
      const id = `default-${buckets}`;
      await packets.create({ ...figures(id, 2), buckets, split: 'equal' });
      packetOf(await packets.grab(id, 'u'));
      await eventually(() => expect(reportsOf(id)).toMatchObject([{ refundedPackets: 1, refundedCents: 100 }]));
    },
  );

  it('reports the refund of an activity that was closed by hand at once', async () => {
    const { packets } = await node();
    await packets.create(figures('by-hand', 4));
    await packets.close('by-hand');
    await eventually(() => expect(reportsOf('by-hand')).toMatchObject([{ refundedPackets: 4 }]));
  });
});
