import { Injectable } from '@nestjs/common';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import { Cluster } from 'ioredis';
import {
  ScheduledLock,
  ScheduledLockService,
  type ScheduledLockModuleOptions,
  type ScheduledLockOptions,
  type ScheduledRun,
} from 'luanest/scheduled-lock';
import { startCluster, type RedisCluster, type RedisServer } from 'luanest/testing/servers';
import { withAdmin } from '../../../test/support/admin';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { quiet } from '../../script-registry/test/support';
import { boot, closeAll, LATER, listen, type Booted, tick as tickOf } from './support';

let cluster: RedisCluster;

beforeAll(async () => {
  cluster = await startCluster();
});
afterEach(closeAll);
afterAll(() => cluster.stop());

interface Runs {
  readonly run: ScheduledRun;
  readonly node: string;
}

/** Two nodes with one job; a run lasts until `finish`. */
async function twoNodes(lock: ScheduledLockOptions, replicas: Partial<ScheduledLockModuleOptions> = {}) {
  const runs: Runs[] = [];
  const finish = new AbortController();
  @Injectable()
  class Jobs {
    constructor(private readonly locks: ScheduledLockService) {}
    @Cron(LATER)
    @ScheduledLock({ name: 'job', ...lock })
    async job(node: string): Promise<void> {
      const run = this.locks.current() as ScheduledRun;
      runs.push({ run, node });
      if (finish.signal.aborted) return;
      await new Promise((resolve) => {
        run.signal.addEventListener('abort', resolve);
        finish.signal.addEventListener('abort', resolve);
      });
    }
  }
  const prefix = uniquePrefix();
  const key = `${prefix}:scheduled-lock:{default:job}:state`;
  const metadata = { imports: [ScheduleModule.forRoot()], providers: [Jobs] };
  const node = (name: string): Promise<Booted> => {
    const client = quiet(new Cluster(cluster.startupNodes, { slotsRefreshTimeout: 5_000 }));
    return boot(metadata, {
      prefix,
      client,
      lock: { node: name, ...replicas },
      registry: { deadlineMs: 20_000 },
    });
  };
  const [one, other] = await Promise.all([node('one'), node('other')]);
  /** A tick of the job's one slot, on a node. */
  const tick = ({ app }: Booted, name: string): Promise<unknown> => tickOf(app.get(Jobs), 'job', name);
  return { runs, finish, key, one, other, tick };
}

/** Keeps what is written from now on away from a master's replica: it lives, but its link is gone and stays so. */
async function isolateReplica(master: RedisServer): Promise<RedisServer> {
  const [replica] = (await cluster.replicasOf(master)) as [RedisServer];
  replica.pause();
  await withAdmin(master, (admin) => admin.call('CLIENT', 'KILL', 'TYPE', 'replica'));
  return replica;
}

/** The master dies, its replica takes over. */
async function failOver(master: RedisServer, replica: RedisServer): Promise<void> {
  await master.kill();
  replica.resume();
  await cluster.untilSettled(({ nodes }) => nodes.some(({ port, slots }) => port === replica.port && slots.length > 0));
}

async function heal(dead: RedisServer): Promise<void> {
  await dead.restart();
  await cluster.untilSettled();
}

it('without WAIT a failover may let a slot run twice: the signal of the first holder fires, and its fence is lower', async () => {
  const { runs, finish, key, one, other, tick } = await twoNodes({ leaseMs: 9_000 });
  const told = listen();
  const master = await cluster.masterOf(key);
  const replica = await isolateReplica(master);
  const first = tick(one, 'one');
  await eventually(() => expect(runs).toHaveLength(1));
  await failOver(master, replica);
  await eventually(async () => {
    void tick(other, 'other');
    await eventually(() => expect(runs).toHaveLength(2), { timeoutMs: 500 });
  });
  // This one slot ran twice; that is what is counted, and cannot be helped without WAIT.
  const twice = runs.filter(({ run }, i) => runs.findIndex((one) => one.run.slot === run.slot) !== i);
  expect(twice).toHaveLength(1);
  const [lost, holder] = runs as [Runs, Runs];
  expect(holder.run.fence).toBeGreaterThan(lost.run.fence);
  // Its next renewal finds the lock gone; its lease could not outlast this in any case.
  await eventually(() => expect(lost.run.signal.aborted).toBe(true));
  expect(lost.run.signal.reason).toMatchObject({ code: 'LOST' });
  expect(() => lost.run.assertHeld()).toThrow();
  await first;
  await eventually(() => expect(told.events.find(({ node }) => node === 'one')?.status).toBe('lost'));
  expect(holder.run.signal.aborted).toBe(false);
  // Whatever keeps the greatest fence it has seen refuses the first holder.
  let greatest = 0;
  const accepts = (fence: number): boolean => fence >= greatest && ((greatest = fence), true);
  expect([holder.run.fence, lost.run.fence].map(accepts)).toEqual([true, false]);
  finish.abort();
  await eventually(() => expect(told.events.find(({ status }) => status === 'ran')?.node).toBe('other'));
  told.stop();
  await heal(master);
});

it('with WAIT a renewal that no replica has does not count: the signal fires before another node can have the lock', async () => {
  const waits = { replicas: 1, replicasTimeoutMs: 100 };
  const { runs, finish, key, one, tick } = await twoNodes({ leaseMs: 3_000 }, waits);
  const told = listen();
  const master = await cluster.masterOf(key);
  const ticks: Promise<unknown>[] = [];
  await eventually(async () => {
    ticks.push(tick(one, 'one'));
    await eventually(() => expect(runs).toHaveLength(1), { timeoutMs: 500 });
  });
  const replica = await isolateReplica(master);
  const { run } = runs[0] as Runs;
  await eventually(() => expect(run.signal.aborted).toBe(true), { timeoutMs: 20_000 });
  expect(run.signal.reason).toMatchObject({
    code: 'LOST',
    message: expect.stringContaining('the lease ended') as string,
  });
  finish.abort();
  await Promise.all(ticks);
  expect(told.events.filter(({ status }) => status === 'lost')).toHaveLength(1);
  told.stop();
  replica.resume();
  await cluster.untilSettled();
});

it('with WAIT a claim that no replica has does not run, and one that runs survives a failover', async () => {
  const { runs, finish, key, one, other, tick } = await twoNodes(
    { leaseMs: 60_000 },
    { replicas: 1, replicasTimeoutMs: 300 },
  );
  const told = listen();
  const master = await cluster.masterOf(key);
  const replica = await isolateReplica(master);
  await tick(one, 'one');
  expect(runs).toEqual([]);
  expect(told.events.map(({ status }) => status)).toEqual(['redis-error']);
  expect((told.events[0]?.error as { code: string }).code).toBe('NOT_REPLICATED');
  replica.resume();
  await cluster.untilSettled();

  // The claim was given back, so any node can claim the same slot.
  const ticks: Promise<unknown>[] = [];
  await eventually(async () => {
    ticks.push(tick(one, 'one'));
    await eventually(() => expect(runs).toHaveLength(1), { timeoutMs: 500 });
  });
  await failOver(master, replica);
  await eventually(async () => {
    await tick(other, 'other');
    expect(told.events.at(-1)).toMatchObject({ node: 'other', status: 'skipped-slot' });
  });
  expect(runs).toHaveLength(1);
  runs[0]?.run.assertHeld();
  finish.abort();
  await Promise.all(ticks);
  expect(told.events.at(-1)).toMatchObject({ node: 'one', status: 'ran' });
  told.stop();
  await heal(master);
});
