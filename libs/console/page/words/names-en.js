// English names of the server where they are not the name itself written as words.

/** @type {Readonly<Record<string, string>>} */
export const NAMES_EN = {
  overview: 'Servers and processes',
  'dead-payouts': 'Dead-lettered payouts',
  oldestMs: 'Oldest waits for',
  appendOnlyFile: 'AOF',
  once: 'Idempotency',
  limits: 'Rate limits',
  rewards: 'Read rewards',
  'red-packets': 'Red packets',
  dead: 'Dead letters',
  ahead: 'Ahead of it',
  atMs: 'At',
  inMs: 'In',
  lateMs: 'Late',
  heldMs: 'Held for',
  waitedMs: 'Waits for',
  waitMs: 'Waits for',
  blockMs: 'Block for',
  leasesEnded: 'Ended leases',
  nextRunAtMs: 'Next run',
  acquiredAtMs: 'Held since',
  waitingSinceMs: 'Waited for since',
  id: 'Id',
  'take-back': 'Take back',
};
