import { Injectable, type Type } from '@nestjs/common';
import * as newest from '@nestjs/schedule';
import * as oldest from 'schedule-oldest';
import { ScheduledLock, ScheduledLockService } from 'luanest/scheduled-lock';
import { Gate } from '../../../test/support/gate';
import type { Pulse } from '../../../test/support/pulse';
import { sharedRedisUrl, uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { excused, quickPulse } from './stalls';
import { boot, closeAll, listen } from './support';

type Schedule = Pick<typeof newest, 'Cron' | 'Interval' | 'Timeout' | 'ScheduleModule' | 'SchedulerRegistry'>;

/** Both decorators on a method, in the order of the way. */
type Both = (lock: MethodDecorator, scheduler: MethodDecorator) => MethodDecorator;

interface Way {
  readonly label: string;
  readonly schedule: Schedule;
  readonly both: Both;
}

const applied =
  (...decorators: MethodDecorator[]): MethodDecorator =>
  (target, key, descriptor) => {
    for (const decorator of decorators) decorator(target, key, descriptor);
  };
const lockAbove: Both = (lock, scheduler) => applied(scheduler, lock);
const lockBelow: Both = (lock, scheduler) => applied(lock, scheduler);

// All at once, since each takes the seconds that @Cron takes.
const ways: Way[] = [
  { label: 'newest-above', schedule: newest, both: lockAbove },
  { label: 'newest-below', schedule: newest, both: lockBelow },
  { label: 'oldest-above', schedule: oldest as unknown as Schedule, both: lockAbove },
  { label: 'oldest-below', schedule: oldest as unknown as Schedule, both: lockBelow },
];

afterEach(closeAll);

it('jobs run once a slot on all nodes, on both versions, with the lock above or below', async () => {
  const told = listen();
  const pulse = quickPulse(sharedRedisUrl());
  await Promise.all(ways.map((way) => runsOnceASlot(way, told, pulse)));
  await pulse.stop();
  told.stop();
});

async function runsOnceASlot(
  { label, schedule, both }: Way,
  told: ReturnType<typeof listen>,
  { stalls }: Pulse,
): Promise<void> {
  const { Cron, Interval, Timeout, ScheduleModule, SchedulerRegistry } = schedule;
  const slots: Record<string, number[]> = { cron: [], every: [], boot: [] };
  @Injectable()
  class Jobs {
    readonly me = this;
    constructor(private readonly locks: ScheduledLockService) {}
    private note(name: string): void {
      this.locks.current()?.assertHeld();
      slots[name]?.push(this.me.locks.current()?.slot ?? -1);
    }
    @both(ScheduledLock({ name: `${label}-cron` }), Cron('* * * * * *', { name: 'by-cron' }))
    cron(): void {
      this.note('cron');
    }
    @both(ScheduledLock({ name: `${label}-every` }), Interval('by-interval', 200))
    every(): void {
      this.note('every');
    }
    @both(ScheduledLock({ name: `${label}-boot`, key: 'v1' }), Timeout('by-timeout', 10))
    boot(): void {
      this.note('boot');
    }
  }
  const prefix = uniquePrefix();
  const metadata = { imports: [ScheduleModule.forRoot()], providers: [Jobs as Type] };
  const [node] = await Promise.all([1, 2, 3].map(() => boot(metadata, { prefix })));
  const registry = node?.app.get(SchedulerRegistry);
  expect([...(registry?.getCronJobs().keys() ?? [])]).toEqual(['by-cron']);
  expect(registry?.getIntervals()).toEqual(['by-interval']);
  expect(registry?.getTimeouts()).toEqual(['by-timeout']);
  await eventually(
    () => {
      expect(slots.cron?.length).toBeGreaterThan(2);
      expect(slots.every?.length).toBeGreaterThan(5);
      expect(told.of(`${label}-boot`)).toHaveLength(3);
    },
    { timeoutMs: 30_000 },
  );
  for (const [job, seen] of Object.entries(slots)) {
    expect([label, job, [...new Set(seen)].sort((one, other) => one - other)]).toEqual([label, job, seen]);
    // The tick of a loser may end before the winner has begun.
    await eventually(() => {
      const fired = new Set(told.events.filter(({ name }) => name === `${label}-${job}`).map(({ slot }) => slot));
      for (const slot of seen) fired.delete(slot);
      const lost = [...fired].filter((slot) => job === 'boot' || !excused(stalls, slot, job === 'cron' ? 1_000 : 200));
      expect([label, job, lost]).toEqual([label, job, []]);
    });
  }
  expect(slots.boot).toEqual([1]);
  expect(slots.cron?.filter((slot) => slot % 1_000 !== 0)).toEqual([]);
  expect(slots.every?.filter((slot) => slot % 200 !== 0)).toEqual([]);
}

it('waitForCompletion works on both versions, with the lock above or below', async () => {
  const told = listen();
  await Promise.all(ways.map((way) => waitsForCompletion(way, told)));
  told.stop();
});

async function waitsForCompletion({ label, schedule, both }: Way, told: ReturnType<typeof listen>): Promise<void> {
  const { Cron, ScheduleModule } = schedule;
  const gates = { waits: new Gate(), overlaps: new Gate() };
  class Jobs {
    @both(ScheduledLock({ name: `${label}-waits` }), Cron('* * * * * *', { waitForCompletion: true }))
    async waits(): Promise<void> {
      await gates.waits.pass();
    }
    @both(ScheduledLock({ name: `${label}-overlaps` }), Cron('* * * * * *'))
    async overlaps(): Promise<void> {
      await gates.overlaps.pass();
    }
  }
  await boot({ imports: [ScheduleModule.forRoot()], providers: [Jobs] }, { prefix: uniquePrefix() });
  await eventually(
    () => {
      expect(gates.waits.entered).toBe(1);
      // A job that does not wait has come to two more slots meanwhile.
      expect(told.of(`${label}-overlaps`).slice(0, 2)).toEqual(['skipped-held', 'skipped-held']);
    },
    { timeoutMs: 30_000 },
  );
  expect(told.of(`${label}-waits`)).toEqual([]);
  gates.waits.open();
  await eventually(() => expect(gates.waits.entered).toBe(2));
  expect(told.of(`${label}-waits`)).toEqual(['ran']);
  gates.overlaps.open();
  gates.waits.open();
}
