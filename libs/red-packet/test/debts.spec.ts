import { Debts } from '../src/payouts/debts';
import type { ActivityStatus } from '../src/red-packet.types';

const unpaid = {
  state: 'closed',
  deadLetters: 3,
  outboxLength: 0,
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
