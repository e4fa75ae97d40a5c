import { Injectable } from '@nestjs/common';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import * as fc from 'fast-check';
import { ScheduledLock, ScheduledLockService } from 'luanest/scheduled-lock';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { size } from '../../../test/support/size';
import { eventually } from '../../../test/support/wait';
import { latestSlot, zoneOf, type CronTimes } from '../src/jobs/cron-slot';
import { boot, closeAll } from './support';

const DAY_MS = 86_400_000;

type CronTimeClass = new (
  source: string,
  zone: string | null,
  offset: number | null,
) => CronTimes & {
  sendAt(): { toMillis(): number };
};

/** The class of the scheduler's own cron package. */
async function cronTimeClass(): Promise<CronTimeClass> {
  class Any {
    @Cron('0 0 1 1 *')
    job(): void {}
  }
  const app = await Test.createTestingModule({ imports: [ScheduleModule.forRoot()], providers: [Any] }).compile();
  await app.init();
  const [job] = app.get(SchedulerRegistry).getCronJobs().values();
  await app.close();
  return (job as { cronTime: object }).cronTime.constructor as unknown as CronTimeClass;
}

afterEach(async () => {
  jest.restoreAllMocks();
  await closeAll();
});

let CronTime: CronTimeClass;
beforeAll(async () => {
  CronTime = await cronTimeClass();
});

const EXPRESSIONS = ['* * * * * *', '*/7 * * * * *', '0 */5 * * * *', '30 30 * * * *', '0 30 2 * * *', '0 0 9 * * 1-5'];
const ZONES = ['UTC', 'Asia/Tokyo', 'Asia/Kolkata', 'Europe/Berlin', 'America/New_York'];
// Around the changes of clocks in Berlin and New York, and far from them.
const STARTS = ['2026-03-29T00:00:00Z', '2026-10-25T00:00:00Z', '2026-11-01T05:00:00Z', '2026-06-15T12:00:00Z'];

it('the latest slot is the one that the scheduler fires at, also where clocks change', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...EXPRESSIONS),
      fc.constantFrom(...ZONES),
      fc.constantFrom(...STARTS),
      fc.nat(86_400_000),
      fc.double({ min: 0, max: 0.99, noNaN: true }),
      (expression, zone, start, offset, late) => {
        const times = new CronTime(expression, zone, null);
        const next = (after: number): number => times.getNextDateFrom(new Date(after), zone).toMillis();
        const slot = next(new Date(start).getTime() + offset);
        // A tick that is late by more is stale. In an hour that comes twice, what is next depends on where one looks from.
        const latenessMs = Math.min(60_000, Math.floor((next(slot) - slot) * late));
        fc.pre(next(slot) - slot > 1_000 || latenessMs < 900);
        expect(latestSlot(times, slot + latenessMs, zone)).toBe(slot);
      },
    ),
    { numRuns: size(25, 300) },
  );
});

it('zones are those in which the scheduler reads', () => {
  expect(zoneOf({ timeZone: 'Asia/Tokyo' })).toBe('Asia/Tokyo');
  expect(zoneOf({})).toBeUndefined();
  for (const offset of [0, 5, 30, -30, 60, -90, 330, 765, -720]) {
    const times = new CronTime('0 0 3 * * *', null, offset);
    const zone = zoneOf({ utcOffset: offset }) as string;
    const upcoming = times.sendAt().toMillis();
    expect([offset, times.getNextDateFrom(new Date(), zone).toMillis()]).toEqual([offset, upcoming]);
  }
});

it('a date is its own slot', () => {
  const date = new Date('2030-01-01T00:00:00Z');
  expect(
    latestSlot(
      {
        realDate: true,
        source: date,
        getNextDateFrom: () => {
          throw new Error('not asked');
        },
      },
      Date.now(),
    ),
  ).toBe(date.getTime());
});

it('a job that is late when the scheduler makes it runs, although it is not registered yet', async () => {
  jest.spyOn(CronTime.prototype as { getTimeout(): number }, 'getTimeout').mockReturnValueOnce(-1);
  const warned = jest.spyOn(console, 'warn').mockReturnValue();
  const slots: (number | undefined)[] = [];
  @Injectable()
  class Jobs {
    constructor(private readonly locks: ScheduledLockService) {}
    @Cron('0 0 3 * * *', { timeZone: 'UTC' })
    @ScheduledLock()
    job(): void {
      slots.push(this.locks.current()?.slot);
    }
  }
  await boot(
    { imports: [ScheduleModule.forRoot()], providers: [Jobs] },
    { prefix: uniquePrefix(), lock: { staleAfterMs: 2 * DAY_MS } },
  );
  await eventually(() => expect(slots).toEqual([expect.any(Number)]));
  expect((slots[0] as number) % DAY_MS).toBe(3 * 3_600_000);
  expect(warned).toHaveBeenCalledWith(expect.stringContaining('Executing immediately'));
});
