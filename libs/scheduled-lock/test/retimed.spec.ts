import { Injectable } from '@nestjs/common';
import * as newest from '@nestjs/schedule';
import * as oldest from 'schedule-oldest';
import { ScheduledLock, ScheduledLockService } from 'luanest/scheduled-lock';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { boot, closeAll, listen, tick } from './support';

type Schedule = Pick<typeof newest, 'Cron' | 'ScheduleModule' | 'SchedulerRegistry'>;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

afterEach(closeAll);

it.each([
  ['newest', newest as Schedule],
  ['oldest', oldest as unknown as Schedule],
])(
  'on the %s @nestjs/schedule a job that is re-timed while it runs has the slots of its new times',
  async (_, schedule) => {
    const { Cron, ScheduleModule, SchedulerRegistry } = schedule;
    const seen: [job: string, slot: number][] = [];
    @Injectable()
    class Jobs {
      constructor(private readonly locks: ScheduledLockService) {}
      private note(job: string): number {
        const { slot = -1 } = this.locks.current() ?? {};
        seen.push([job, slot]);
        return slot;
      }
      @Cron('0 0 3 * * *', { name: 'named', timeZone: 'UTC' })
      @ScheduledLock({ name: 'named' })
      named(): void {
        this.note('named');
      }
      @Cron('0 0 4 * * *', { timeZone: 'UTC' })
      @ScheduledLock({ name: 'nameless' })
      nameless(): void {
        this.note('nameless');
      }
      @Cron('0 0 3 * * *', { name: 'moved', timeZone: 'UTC' })
      @ScheduledLock({ name: 'moved' })
      moved(): number {
        return this.note('moved');
      }
    }
    const told = listen();
    const prefix = uniquePrefix();
    const nodes = await Promise.all(
      [1, 2].map(() =>
        boot(
          { imports: [ScheduleModule.forRoot()], providers: [Jobs] },
          { prefix, lock: { staleAfterMs: 2 * DAY_MS } },
        ),
      ),
    );
    for (const { app } of nodes) {
      for (const job of app.get(SchedulerRegistry).getCronJobs().values()) {
        const { source, constructor } = job.cronTime;
        const CronTime = constructor as new (
          source: string,
          zone?: string | null,
          offset?: number,
        ) => typeof job.cronTime;
        if (source === '0 0 4 * * *' || job.name === 'named') job.setTime(new CronTime('* * * * * *'));
      }
      const moved = app.get(SchedulerRegistry).getCronJob('moved');
      const CronTime = moved.cronTime.constructor as new (source: string, zone: string | null) => typeof moved.cronTime;
      moved.setTime(new CronTime('0 0 3 * * *', 'Asia/Tokyo'));
    }
    // A job has its name in the cron package only where the version hands it over.
    const byName = nodes.map(({ app }) => app.get(SchedulerRegistry).getCronJob('named'));
    for (const job of byName) {
      const CronTime = job.cronTime.constructor as new (source: string) => typeof job.cronTime;
      job.setTime(new CronTime('* * * * * *'));
    }
    const slotsOf = (job: string): number[] => seen.filter(([name]) => name === job).map(([, slot]) => slot);
    await eventually(() => {
      expect(slotsOf('named').length).toBeGreaterThan(1);
      expect(slotsOf('nameless').length).toBeGreaterThan(1);
    });
    for (const job of ['named', 'nameless']) {
      expect([...new Set(slotsOf(job))]).toEqual(slotsOf(job));
      for (const slot of slotsOf(job)) expect(Math.abs(slot - Date.now())).toBeLessThan(60_000);
      expect(told.of(job)).not.toContain('stale');
    }
    const [{ app }] = nodes as [(typeof nodes)[number]];
    const slot = (await tick(app.get(Jobs), 'moved')) as number;
    expect(slot % DAY_MS).toBe(18 * HOUR_MS);
    told.stop();
  },
);
