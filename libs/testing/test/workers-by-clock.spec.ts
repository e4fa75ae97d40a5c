import { Injectable, Logger } from '@nestjs/common';
import { Cron, Interval, ScheduleModule, SchedulerRegistry, Timeout } from '@nestjs/schedule';
import { DelayedTaskModule } from 'luanest/delayed-task';
import { RedPacketModule, RedPacketService } from 'luanest/red-packet';
import { ScheduledLock, ScheduledLockModule, ScheduledLockService } from 'luanest/scheduled-lock';
import { retryLater, StreamConsumerModule, StreamConsumerService, type StreamMessage } from 'luanest/stream-consumer';
import { CronJob, CronTime } from 'cron';
import { scheduleByClock } from '../src/clock/nest-schedule';
import { TestClock } from '../src/clock/test-clock';
import { closeApps, startApp } from './app-by-clock';

const [MINUTE, HOUR] = [60_000, 3_600_000];

beforeAll(() => void Logger.overrideLogger(false));
afterEach(closeApps);

describe('streams', () => {
  it('deliver a message again when retryLater or the backoff is over', async () => {
    const { app, clock } = await startApp([StreamConsumerModule.forRoot()]);
    const streams = app.get(StreamConsumerService);
    const attempts: number[] = [];
    await streams.handle({ stream: 'orders', group: 'mails' }, ({ attempt }) => {
      attempts.push(attempt);
      return attempts.length < 3 ? retryLater({ delayMs: 10 * MINUTE }) : undefined;
    });
    await streams.publish('orders', { id: 1 });
    await clock.settle();
    expect(attempts).toHaveLength(1);
    await clock.advance(10 * MINUTE - 1);
    expect(attempts).toHaveLength(1);
    await clock.advance(1);
    expect(attempts).toHaveLength(2);
    await clock.advance(10 * MINUTE);
    expect(attempts).toHaveLength(3);
  });

  it('are taken over from a consumer that has died, after its lease', async () => {
    const { client, clock, memory, app } = await startApp([StreamConsumerModule.forRoot()]);
    const options = { stream: 'orders', group: 'mails', leaseMs: 30_000 };
    const never = new Promise<void>(() => undefined);
    let started = 0;
    await app.get(StreamConsumerService).handle(options, () => {
      started += 1;
      return never;
    });
    await app.get(StreamConsumerService).publish('orders', { id: 1 });
    await clock.settle();
    expect(started).toBe(1);
    // As dead as a process that is killed: nothing reaches Redis any more, so the lease is not renewed.
    client.disconnect();
    const other = await startApp([StreamConsumerModule.forRoot()], [], { clock, memory });
    const taken: StreamMessage[] = [];
    await other.app.get(StreamConsumerService).handle(options, (message) => void taken.push(message));
    await clock.advance(29_000);
    expect(taken).toEqual([]);
    await clock.advance(2_000);
    expect(taken.map(({ payload, attempt }) => [payload, attempt])).toEqual([[{ id: 1 }, 2]]);
  });
});

const slots: number[] = [];
const calls: string[] = [];

@Injectable()
class Reports {
  constructor(private readonly locks: ScheduledLockService) {}

  @ScheduledLock({ name: 'report' })
  @Cron('0 0 4 * * *', { name: 'report', timeZone: 'UTC' })
  build(): void {
    slots.push(this.locks.current()?.slot ?? -1);
  }

  @ScheduledLock({ name: 'sweep' })
  @Interval('sweep', MINUTE)
  sweep(): void {
    calls.push('sweep');
  }

  @ScheduledLock({ name: 'start', key: 'v1' })
  @Timeout('start', 30_000)
  start(): void {
    calls.push('start');
  }
}

@Injectable()
class Nightly {
  constructor(private readonly locks: ScheduledLockService) {}

  @ScheduledLock({ name: 'nightly' })
  @Cron('0 30 2 * * *', { name: 'nightly', timeZone: 'Europe/Berlin' })
  build(): void {
    slots.push(this.locks.current()?.slot ?? -1);
  }
}

@Injectable()
class Beats {
  @Interval('kept', MINUTE)
  kept(): void {
    calls.push('kept');
  }

  @Interval('deleted', MINUTE)
  deleted(): void {
    calls.push('deleted');
  }

  @Timeout('wait', 90_000)
  wait(): void {
    calls.push('wait');
  }
}

describe('scheduled jobs', () => {
  beforeEach(() => (slots.length = calls.length = 0));

  it('get the slot of the time to which the clock was moved, once on all nodes', async () => {
    slots.length = 0;
    const imports = () => [ScheduledLockModule.forRoot({ namespace: 'shop' }), ScheduleModule.forRoot()];
    const { app, clock, memory } = await startApp(imports(), [Reports]);
    const other = await startApp(imports(), [Reports], { clock, memory });
    for (const node of [app, other.app]) scheduleByClock(node);
    await clock.advance(3 * HOUR + 59 * MINUTE);
    expect(slots).toEqual([]);
    await clock.advance(MINUTE);
    // As a real scheduler after a pause: the tick of 4 January alone, late, and none for 2 and 3 January.
    await clock.set(Date.UTC(2026, 0, 4, 4, 0, 1));
    await clock.set(Date.UTC(2026, 0, 5, 4));
    expect(slots).toEqual([1, 4, 5].map((day) => Date.UTC(2026, 0, day, 4)));
  });

  it('run at each of their times while the clock runs, once on all nodes', async () => {
    const imports = () => [ScheduledLockModule.forRoot({ namespace: 'shop' }), ScheduleModule.forRoot()];
    const { app, clock, memory } = await startApp(imports(), [Nightly]);
    const other = await startApp(imports(), [Nightly], { clock, memory });
    for (const node of [app, other.app]) scheduleByClock(node);
    await clock.run(3 * 24 * HOUR);
    expect(slots).toEqual([1, 2, 3].map((day) => Date.UTC(2026, 0, day, 1, 30)));
  });

  it('run in each period of @Interval while the clock runs', async () => {
    const { app, clock } = await startApp([ScheduleModule.forRoot()], [Beats]);
    scheduleByClock(app);
    const jobs = app.get(SchedulerRegistry);
    const seconds: number[] = [];
    const job = CronJob.from({ cronTime: '*/20 * * * * *', onTick: () => void seconds.push(clock.nowMs % MINUTE) });
    jobs.addCronJob('often', job);
    job.start();
    scheduleByClock(app);
    jobs.deleteInterval('deleted');
    await clock.run(2 * MINUTE + 1);
    expect(calls.toSorted()).toEqual(['kept', 'kept', 'wait']);
    expect(seconds).toEqual([20_000, 40_000, 0, 20_000, 40_000, 0]);
  });

  it.each([
    // 02:30 does not exist on this day: the job runs at 03:00 summer time.
    ['begins', Date.UTC(2026, 2, 28), ['2026-03-28T01:30Z', '2026-03-29T01:00Z', '2026-03-30T00:30Z']],
    // 02:30 is there twice on this day.
    ['ends', Date.UTC(2026, 9, 24), ['2026-10-24T00:30Z', '2026-10-25T00:30Z', '2026-10-26T01:30Z']],
  ])('run once a day when summer time %s', async (_when, nowMs, expected) => {
    const imports = [ScheduledLockModule.forRoot({ namespace: 'shop' }), ScheduleModule.forRoot()];
    const { app, clock } = await startApp(imports, [Nightly], { clock: new TestClock({ nowMs }).install() });
    scheduleByClock(app);
    await clock.run(3 * 24 * HOUR - HOUR);
    expect(slots.map((slot) => new Date(slot).toISOString().replace(':00.000', ''))).toEqual(expected);
  });

  it('of @Interval and @Timeout run once in each period, on all nodes', async () => {
    const imports = () => [ScheduledLockModule.forRoot({ namespace: 'shop' }), ScheduleModule.forRoot()];
    const { app, clock, memory } = await startApp(imports(), [Reports]);
    const other = await startApp(imports(), [Reports], { clock, memory });
    for (const node of [app, other.app]) scheduleByClock(node);
    for (let minute = 0; minute < 5; minute++) await clock.advance(MINUTE);
    expect(calls).toEqual(['start', ...Array<string>(5).fill('sweep')]);
  });

  it('can be started, stopped and given other times', async () => {
    const { app, clock } = await startApp(
      [ScheduledLockModule.forRoot({ namespace: 'shop' }), ScheduleModule.forRoot()],
      [Reports],
    );
    scheduleByClock(app);
    scheduleByClock(app);
    const job = app.get(SchedulerRegistry).getCronJob('report');
    expect(job.isActive).toBe(true);
    job.setTime(new CronTime('0 0 5 * * *', 'UTC'));
    await clock.advance(5 * HOUR);
    await job.stop();
    expect(job.isActive).toBe(false);
    await clock.advance(24 * HOUR);
    job.start();
    await clock.advance(24 * HOUR);
    expect(slots).toEqual([1, 3].map((day) => Date.UTC(2026, 0, day, 5)));
  });
});

describe('jobs of @nestjs/schedule', () => {
  const started = async (): Promise<[Awaited<ReturnType<typeof startApp>>, SchedulerRegistry]> => {
    const node = await startApp([ScheduleModule.forRoot()], [Beats]);
    scheduleByClock(node.app);
    return [node, node.app.get(SchedulerRegistry)];
  };
  beforeEach(() => (calls.length = 0));

  it.each([120, -330])('are due in the zone of utcOffset %d', async (utcOffset) => {
    const [{ app, clock }, jobs] = await started();
    const at: number[] = [];
    const job = CronJob.from({ cronTime: '0 0 9 * * *', utcOffset, onTick: () => void at.push(clock.nowMs) });
    jobs.addCronJob('nine', job);
    job.start();
    scheduleByClock(app);
    const due = clock.nowMs + 9 * HOUR - utcOffset * MINUTE;
    await clock.set(due - 1);
    expect(at).toEqual([]);
    await clock.set(due);
    expect(at).toEqual([due]);
  });

  it('that are made with a date run once, and not if the date has passed', async () => {
    const [{ app, clock }, jobs] = await started();
    const ran: string[] = [];
    for (const [name, inMs] of [
      ['past', -1],
      ['now', 0],
      ['later', HOUR],
    ] as const) {
      const job = new CronJob(new Date(clock.nowMs + inMs), () => void ran.push(name));
      jobs.addCronJob(name, job);
    }
    scheduleByClock(app);
    for (const job of jobs.getCronJobs().values()) job.start();
    await clock.settle();
    expect(ran).toEqual(['now']);
    await clock.advance(HOUR);
    await clock.advance(HOUR);
    expect(ran).toEqual(['now', 'later']);
    expect(jobs.getCronJob('later').isActive).toBe(false);
  });

  it('end when they are deleted, and with their app', async () => {
    const [{ app, clock, memory }, jobs] = await started();
    const other = await startApp([ScheduleModule.forRoot()], [], { clock, memory });
    await clock.advance(MINUTE);
    expect(calls).toEqual(['kept', 'deleted']);
    jobs.deleteInterval('deleted');
    jobs.deleteTimeout('wait');
    await clock.advance(MINUTE);
    expect(calls.splice(0)).toEqual(['kept', 'deleted', 'kept']);
    await app.close();
    await clock.advance(10 * MINUTE);
    expect(calls).toEqual([]);
    await other.app.close();
  });
});

describe('red packets', () => {
  it('start and end by the clock, and are closed when they have ended', async () => {
    const { app, clock } = await startApp([
      DelayedTaskModule.forRoot(),
      RedPacketModule.forRoot({
        identity: () => 'ann',
        adminGuard: class {
          canActivate = () => true;
        },
      }),
    ]);
    const packets = app.get(RedPacketService);
    const [startsAtMs, endsAtMs] = [clock.nowMs + MINUTE, clock.nowMs + 10 * MINUTE];
    await packets.create({ activityId: 'a', totalCents: 1_000, packets: 10, startsAtMs, endsAtMs });
    await expect(packets.grab('a', 'ann')).resolves.toMatchObject({ status: 'not-open', retryAfterMs: MINUTE });
    await clock.advance(MINUTE);
    await expect(packets.grab('a', 'ann')).resolves.toMatchObject({ status: 'won' });
    await clock.advance(9 * MINUTE - 1);
    await expect(packets.status('a')).resolves.toMatchObject({ state: 'open' });
    await clock.advance(1);
    await expect(packets.grab('a', 'bob')).resolves.toMatchObject({ status: 'not-open' });
    await expect(packets.status('a')).resolves.toMatchObject({ state: 'closed', grantedPackets: 1 });
  });
});
