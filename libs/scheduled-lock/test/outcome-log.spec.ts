import { LostError } from 'luanest/script-registry';
import { ScheduledLockEvents } from 'luanest/scheduled-lock';
import type { Job } from '../src/jobs/job';
import { OutcomeLog, type TickOutcome } from '../src/runs/outcome-log';
import { ManualTime } from '../../../test/support/manual-time';
import { Published } from '../../../test/support/published';
import { CRON, jobOf, MODULE } from './runs-support';

describe('the outcomes of ticks', () => {
  const time = new ManualTime();
  const events = new Published(ScheduledLockEvents);

  function open() {
    const lines: string[] = [];
    const logger = {
      warn: (text: string) => lines.push(`warn ${text}`),
      log: (text: string) => lines.push(`log ${text}`),
    };
    const outcomes = new OutcomeLog(MODULE, logger);
    const record = (job: Job, status: TickOutcome['status'], more: Partial<TickOutcome> = {}, saved = true): void =>
      outcomes.record(job, { mode: 'tick', status, slot: time.now, ...more }, saved);
    const take = (): string[] => lines.splice(0);
    return { outcomes, record, take };
  }

  it('are published', () => {
    const { record } = open();
    record(jobOf(), 'failed', { slot: 77, fence: 7, durationMs: 30, error: 'broken' });
    record(jobOf(), 'skipped-held', { slot: 78 });
    const base = { name: 'report', recordedAtMs: 1_000, node: 'n1' };
    expect(events.take()).toEqual([
      ['tickEnded', { ...base, status: 'failed', slot: 77, fence: 7, durationMs: 30, error: 'broken' }],
      ['tickEnded', { ...base, status: 'skipped-held', slot: 78, fence: 0, durationMs: 0 }],
    ]);
    record(jobOf(), 'ran');
    expect((events.take()[0] as [string, object])[1]).not.toHaveProperty('error');
  });

  it('are kept if Redis may not have them, the newest first, up to the size of a history', () => {
    const { outcomes, record } = open();
    expect(outcomes.unsavedOf('report')).toEqual([]);
    record(jobOf(), 'ran', { slot: 1 });
    expect(outcomes.unsavedOf('report')).toEqual([]);
    for (const slot of [2, 3, 4, 5]) record(jobOf(), 'lost', { slot, fence: 7, durationMs: 8 }, false);
    expect(outcomes.unsavedOf('report').map(({ slot }) => slot)).toEqual([5, 4, 3]);
    const kept = { status: 'lost', slot: 5, fence: 7, recordedAtMs: 1_000, durationMs: 8, node: 'n1' };
    expect(outcomes.unsavedOf('report')[0]).toEqual(kept);
    expect(outcomes.unsavedOf('other')).toEqual([]);
  });

  it.each([
    [new LostError('x'), 'LOST'],
    [new TypeError('x'), 'TypeError'],
    ['x', 'unknown error'],
  ])('are logged once when claims begin to fail (%s)', (error, why) => {
    const { record, take } = open();
    for (let i = 0; i < 2; i++) record(jobOf(), 'redis-error', { error });
    expect(take()).toEqual([
      `warn Job report: Redis failed when this node tried to get the lock of the run (${why}), so the job does not run this time (onRedisError: 'skip'). Check Redis. Further failures are not logged until a call works again.`,
    ]);
  });

  it('are logged when Redis replies again', () => {
    const { record, take } = open();
    const [skips, runs] = [jobOf(), jobOf(CRON, { name: 'other', onRedisError: 'run' })];
    record(skips, 'redis-error');
    for (let i = 0; i < 3; i++) record(runs, 'redis-error');
    expect(take()[1]).toMatch(
      /^warn Job other: Redis failed when this node tried to get the lock of the run \(unknown error\), so the job runs without the lock this/,
    );
    time.now += 5;
    for (let i = 0; i < 2; i++) {
      record(skips, 'ran');
      record(runs, 'skipped-held');
    }
    expect(take()).toEqual([
      'log Job report: Redis replies again. The job did not run once since 1970-01-01T00:00:01.000Z.',
      'log Job other: Redis replies again. The job ran without the lock 3 times since 1970-01-01T00:00:01.000Z.',
    ]);
    record(skips, 'redis-error');
    expect(take()).toHaveLength(1);
  });

  const stale = "away from that time by Redis' clock.";
  const further = 'Further stale runs are not logged until one is on time.';

  it.each([
    [-61_000, 'By the clock of this machine it fired 61000 ms late, so check if this process was blocked'],
    [61_000, 'By the clock of this machine it fired 61000 ms early, so check if this process was blocked'],
    [
      -60_000,
      "By the clock of this machine it fired within 60000 ms of that time, so correct this clock or Redis' clock",
    ],
    [
      60_000,
      "By the clock of this machine it fired within 60000 ms of that time, so correct this clock or Redis' clock",
    ],
  ])('are logged once when ticks begin to be stale (%i)', (awayMs, cause) => {
    const { record, take } = open();
    time.now = 100_000;
    const slot = time.now + awayMs;
    for (let i = 0; i < 2; i++) record(jobOf(), 'stale', { slot });
    expect(take()).toEqual([
      `warn Job report: the run scheduled at ${new Date(slot).toISOString()} is skipped on this node (status stale), because it fired more than 60000 ms ${stale} ${cause}. ${further}`,
    ]);
  });

  it('are logged when ticks are on time again, which runs by hand do not show', () => {
    const { record, take } = open();
    const other = jobOf(CRON, { name: 'other' });
    record(jobOf(), 'stale');
    for (let i = 0; i < 2; i++) record(other, 'stale');
    take();
    for (const mode of ['free', 'catch-up'] as const) record(jobOf(), 'ran', { mode });
    expect(take()).toEqual([]);
    for (let i = 0; i < 2; i++) {
      record(jobOf(), 'ran');
      record(other, 'ran');
    }
    expect(take()).toEqual([
      'log Job report: its scheduled runs are on time again. 1 run was stale and skipped since 1970-01-01T00:00:01.000Z.',
      'log Job other: its scheduled runs are on time again. 2 runs were stale and skipped since 1970-01-01T00:00:01.000Z.',
    ]);
  });
});
