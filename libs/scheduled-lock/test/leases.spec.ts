import { Injectable } from '@nestjs/common';
import { Cron, Interval, ScheduleModule } from '@nestjs/schedule';
import { ScheduledLock, ScheduledLockService } from 'luanest/scheduled-lock';
import { type ScriptRegistry, getScriptRegistryToken } from 'luanest/script-registry';
import { Gate } from '../../../test/support/gate';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { eventually, sleep } from '../../../test/support/wait';
import { claimRun } from '../src/scheduled-lock.scripts';
import { boot, closeAll, LATER, tick } from './support';

const imports = [ScheduleModule.forRoot()];

afterEach(closeAll);

it('a tick of an interval that meets the run of an earlier period waits for its end, within its own period', async () => {
  const gate = new Gate();
  @Injectable()
  class Jobs {
    @Interval(60_000_000)
    @ScheduledLock({ name: 'long' })
    async long(): Promise<void> {
      await gate.pass();
    }
  }
  const prefix = uniquePrefix();
  const { app, client } = await boot({ imports, providers: [Jobs] }, { prefix });
  const first = tick(app.get(Jobs), 'long');
  await eventually(() => expect(gate.entered).toBe(1));
  // As if its run were one of an earlier period, which is over; the tick waits for its end within its own.
  await client.hincrby(`${prefix}:scheduled-lock:{default:long}:state`, 'slot', -60_000_000);
  const second = tick(app.get(Jobs), 'long');
  gate.open();
  await first;
  await eventually(() => expect(gate.entered).toBe(2));
  gate.open();
  await second;
  const history = await app.get(ScheduledLockService).history('long');
  expect(history.map(({ status }) => status)).toEqual(['ran', 'ran']);
});

it('lockAtLeastForMs keeps the lock of a job that was quick', async () => {
  const slots: number[] = [];
  @Injectable()
  class Jobs {
    constructor(private readonly locks: ScheduledLockService) {}
    @Interval(20)
    @ScheduledLock({ name: 'quick', lockAtLeastForMs: 300 })
    quick(): void {
      slots.push(this.locks.current()?.slot ?? 0);
    }
  }
  const prefix = uniquePrefix();
  const nodes = await Promise.all([1, 2].map(() => boot({ imports, providers: [Jobs] }, { prefix })));
  await eventually(() => expect(slots.length).toBeGreaterThan(3));
  // A claim comes within its slot, which begins at most a period before it.
  slots.slice(1).forEach((slot, i) => expect(slot - (slots[i] as number)).toBeGreaterThanOrEqual(280));
  const history = await nodes[0]?.app.get(ScheduledLockService).history('quick');
  expect(history?.map(({ status }) => status)).toContain('skipped-held');
});

it('a slot whose run died is run by another node, once, and within its time only', async () => {
  const runs: [string, number | undefined][] = [];
  @Injectable()
  class Jobs {
    constructor(private readonly locks: ScheduledLockService) {}
    @Cron(LATER)
    @ScheduledLock({ name: 'caught', catchUpWithinMs: 60_000, leaseMs: 2_000 })
    caught(): void {
      runs.push(['caught', this.locks.current()?.slot]);
    }
    @Cron(LATER)
    @ScheduledLock({ name: 'late', catchUpWithinMs: 2_500, leaseMs: 2_000 })
    late(): void {
      runs.push(['late', this.locks.current()?.slot]);
    }
    @Cron(LATER)
    @ScheduledLock({ name: 'done', catchUpWithinMs: 60_000, leaseMs: 2_000 })
    done(): void {
      runs.push(['done', this.locks.current()?.slot]);
    }
  }
  const prefix = uniquePrefix();
  const nodes = await Promise.all([1, 2].map(() => boot({ imports, providers: [Jobs] }, { prefix })));
  const [{ app }] = nodes as [(typeof nodes)[number]];
  await tick(app.get(Jobs), 'done');
  const registry = app.get<ScriptRegistry>(getScriptRegistryToken());
  const dies = async (name: string, slot: number) => {
    const tag = registry.keySpace('scheduled-lock').tag(`default:${name}`);
    const args = { owner: 'dead', node: 'dead', mode: 'tick', slot, periodMs: 0, staleMs: 60_000, leaseMs: 100 };
    const keys = { state: tag.key('state'), history: tag.key('history') };
    return registry.run(claimRun, { keys, args: { ...args, retentionMs: 60_000, keep: 50 } });
  };
  const slot = Math.floor(Date.now() / 1_000) * 1_000;
  expect((await dies('late', slot - 30_000)).status).toBe('ran');
  expect((await dies('caught', slot)).status).toBe('ran');
  await eventually(() => expect(runs.map(([name]) => name)).toContain('caught'));
  const outcomes = async () => (await app.get(ScheduledLockService).history('caught')).map(({ status }) => status);
  await eventually(async () => expect(await outcomes()).toEqual(['ran']));
  // Others look as often as before, twice in this time, and see that it was done.
  await sleep(2_600);
  expect(runs).toEqual([
    ['done', LATER.getTime()],
    ['caught', slot],
  ]);
  expect(await outcomes()).toEqual(['ran']);
});
