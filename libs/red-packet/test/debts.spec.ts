import { Debts } from '../src/payouts/debts';
import type { ActivityStatus } from '../src/red-packet.types';

const unpaid = {
  state: 'closed',
  deadLetters: 3,
  openPayouts: 0,
  remainingPackets: 0,
  unreportedPackets: 0,
  overdue: false,
  settled: false,
} as ActivityStatus;

// If Redis loses a bucket that had sent packets to another one, fewer packets than none are left by the counters.
it.each([0, -3])('winners may not be paid: this is logged once, also with %i packets left', (remainingPackets) => {
  const logger = { log: jest.fn(), warn: jest.fn() };
  const debts = new Debts(logger);
  debts.check('a\u2028', { ...unpaid, remainingPackets });
  debts.check('a\u2028', { ...unpaid, remainingPackets });
  expect(logger.warn.mock.calls).toEqual([[expect.stringMatching(/^Activity "a " has dead-lettered payouts/)]]);
  expect(logger.log).not.toHaveBeenCalled();
});

describe('debts of an activity', () => {
  const COUNTS =
    '(open payouts: 0, dead-lettered payouts: 3, packets left: 0, refunded packets not reported to onClosed: 0, state: closed)';
  const DEAD =
    `Activity "a" has dead-lettered payouts, so their winners may not be paid ${COUNTS}. ` +
    'Replay these payouts, or drop those that you paid by other means.';
  const OVERDUE =
    `Activity "a" is older than its retention, but stays in Redis, because some of its money is not paid or refunded yet ${COUNTS}. ` +
    'Close the activity, and replay or drop its dead-lettered payouts. To give up the money that is not paid, close it and call forget().';

  /** Checks an activity in these states, one after the other. @returns what is logged */
  function logged(...statuses: (Partial<ActivityStatus> | undefined)[]): string[] {
    const lines: string[] = [];
    const logger = { log: (line: string) => lines.push(`log: ${line}`), warn: (line: string) => lines.push(line) };
    const debts = new Debts(logger);
    for (const status of statuses) debts.check('a', status && { ...unpaid, ...status });
    return lines;
  }

  it('are logged with all counts, and again when the retention is over', () => {
    expect(logged({}, { overdue: true })).toEqual([DEAD, OVERDUE]);
  });

  it.each<[string, Partial<ActivityStatus> | undefined, string]>([
    ['is no longer in Redis', undefined, 'is no longer in Redis'],
    [
      'is settled',
      { settled: true, overdue: true },
      'has paid or given up all of its money, so its data in Redis will expire',
    ],
    ['owes nothing', { deadLetters: 0, overdue: true }, 'has paid all of its money'],
    ['has no dead letters', { deadLetters: 0, openPayouts: 1 }, 'has no dead-lettered payouts any more'],
  ])('that are over are logged once: it %s', (_, status, line) => {
    expect(logged({}, status, status)).toEqual([DEAD, `log: Activity "a" ${line}.`]);
  });

  it.each<[string, Partial<ActivityStatus> | undefined]>([
    ['Redis has no activity', undefined],
    ['it is settled', { settled: true }],
    ['it is a draft', { state: 'draft' }],
    ['it only has open payouts', { deadLetters: 0, openPayouts: 2 }],
    ['nothing is owed, although the retention is over', { deadLetters: 0, overdue: true }],
  ])('are not logged if %s', (_, status) => {
    expect(logged(status)).toEqual([]);
  });

  it.each<[string, Partial<ActivityStatus>]>([
    ['open payouts', { openPayouts: 1 }],
    ['packets that are left', { remainingPackets: 1 }],
    ['refunds that were not reported', { unreportedPackets: 1 }],
  ])('after the retention are also %s', (_, status) => {
    expect(logged({ deadLetters: 0, overdue: true, ...status })).toHaveLength(1);
  });
});
