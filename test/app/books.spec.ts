import type { ActivityStatus, AuditReport } from 'luanest/red-packet';
import { type Books, faultsOf } from '../../src/monitoring/audit/books.service';

const status: ActivityStatus = {
  activityId: 'a',
  activityKey: 'a@3',
  state: 'closed',
  totalCents: 1_000,
  packets: 10,
  buckets: 2,
  remainingPackets: 0,
  remainingCents: 0,
  grantedPackets: 6,
  grantedCents: 700,
  refundedPackets: 4,
  refundedCents: 300,
  movingPackets: 0,
  movingCents: 0,
  outboxLength: 0,
  createdAtMs: 1,
  startsAtMs: 0,
  endsAtMs: 2,
  expiresAtMs: 3,
  deadLetters: 0,
  unreportedPackets: 0,
  overdue: true,
  settled: true,
};
const audit: AuditReport = {
  activityId: 'a',
  ok: true,
  problems: [],
  state: 'closed',
  total: { packets: 10, cents: 1_000 },
  moving: { packets: 0, cents: 0 },
  buckets: [],
};
const ledger = { rows: 6, users: 6, cents: 700, conflicts: 0, fundedCents: 1_000, refundedCents: 300 };
const books = (changed: { [K in keyof Books]?: Partial<Books[K]> }): Books => ({
  status: { ...status, ...changed.status },
  audit: { ...audit, ...changed.audit },
  ledger: { ...ledger, ...changed.ledger },
});

it.each<[string, Parameters<typeof books>[0]]>([
  ['a rain that is closed, with its refund', {}],
  [
    'packets between buckets',
    {
      status: {
        remainingPackets: 4,
        remainingCents: 300,
        movingPackets: 2,
        movingCents: 90,
        refundedPackets: 0,
        refundedCents: 0,
      },
      ledger: { refundedCents: 0 },
    },
  ],
  [
    'a pool that is being filled',
    {
      status: {
        state: 'draft',
        remainingCents: 0,
        grantedCents: 0,
        grantedPackets: 0,
        refundedCents: 0,
        refundedPackets: 0,
      },
      ledger: { rows: 0, users: 0, cents: 0, refundedCents: 0 },
    },
  ],
  ['payouts in flight', { status: { outboxLength: 2 }, ledger: { rows: 4, users: 4, cents: 500 } }],
])('finds no fault in %s', (_what, changed) => {
  expect(faultsOf(books(changed))).toEqual([]);
});

it('finds no fault if no process has the ledger', () => {
  expect(faultsOf({ status, audit, ledger: undefined })).toEqual([]);
});

it.each<[string, Parameters<typeof books>[0], RegExp]>([
  ['a lost cent', { status: { refundedCents: 299 } }, /999 cents of 1000/],
  ['a made-up packet', { status: { remainingPackets: 1 } }, /11 packets of 10/],
  ['a problem of a bucket', { audit: { problems: ['bucket 1: it is gone'] } }, /bucket 1: it is gone/],
  ['more paid than granted', { ledger: { cents: 701 } }, /701 cents paid of 700 granted/],
  ['less paid in the end', { ledger: { cents: 699 } }, /699 cents paid of 700 granted, and nothing is open/],
  ['a user who was paid twice', { ledger: { users: 5 } }, /6 payouts to 5 users/],
  ['another funding', { ledger: { fundedCents: 999 } }, /funded with 999 cents of 1000/],
  ['a refund that was not', { ledger: { refundedCents: 301 } }, /301 cents booked of 300 refunded/],
  ['more paid out than paid in', { ledger: { cents: 701 } }, /1001 cents paid and refunded of 1000/],
  ['payouts that contradict', { ledger: { conflicts: 1 } }, /1 payouts contradict/],
])('finds %s', (_what, changed, fault) => {
  expect(faultsOf(books(changed)).join('\n')).toMatch(fault);
});
