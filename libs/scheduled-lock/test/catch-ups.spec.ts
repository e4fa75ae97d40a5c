import { CatchUps } from '../src/runs/catch-ups';
import { ManualTime } from '../../../test/support/manual-time';
import { CRON, jobOf } from './runs-support';

describe('the checks for slots whose run died', () => {
  const time = new ManualTime();
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it.each([
    [3_000, 0, 1_125],
    [3_000, 0.5, 1_500],
    [150, 0.5, 100],
  ])('are made about every half of a lease (%i ms, %d): every %i ms', async (leaseMs, random, everyMs) => {
    jest.spyOn(Math, 'random').mockReturnValue(random);
    const run = jest.fn((..._: unknown[]) => Promise.reject(new Error('the job failed')));
    const catchUps = new CatchUps({ run } as never);
    const [job, work] = [jobOf(CRON, { leaseMs }), () => 1];
    catchUps.add(job, work);
    catchUps.stop();
    catchUps.start();
    expect([time.running, time.keepsProcess]).toEqual([[everyMs], false]);
    await time.pass(2 * everyMs);
    expect(run.mock.calls).toEqual([
      [job, 'catch-up', work],
      [job, 'catch-up', work],
    ]);
    catchUps.stop();
    expect(time.running).toEqual([]);
  });
});
