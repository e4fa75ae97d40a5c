import type { ActivityStatus, AuditResult } from 'luanest/red-packet';
import type { LedgerTotals } from '../../src/ledger/ledger.types';
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
  openPayouts: 0,
  createdAtMs: 1,
  startsAtMs: 0,
  endsAtMs: 2,
  expiresAtMs: 3,
  deadLetters: 0,
  unreportedPackets: 0,
  overdue: true,
  settled: true,
};
const audit: AuditResult = {
  activityId: 'a',
  ok: true,
  problems: [],
  state: 'closed',
  total: { packets: 10, cents: 1_000 },
  moving: { packets: 0, cents: 0 },
  buckets: [],
};
const book = { fundedCents: 1_000, paidCents: 700, refundedCents: 300, owedCents: 0 };
const ledger = { rows: 6, users: 6, cents: 700, conflicts: 0, book };
interface Changes {
  readonly status?: Partial<ActivityStatus>;
  readonly audit?: Partial<AuditResult>;
  readonly ledger?: Partial<LedgerTotals>;
  readonly unbookedMs?: number;
}
const books = ({ unbookedMs = 0, ...changed }: Changes): Books => ({
  status: { ...status, ...changed.status },
  audit: { ...audit, ...changed.audit },
  ledger: { ...ledger, ...changed.ledger },
  unbookedMs,
});

it.each<[string, Changes]>([
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
      ledger: { book: { ...book, refundedCents: 0, owedCents: 300 } },
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
      ledger: { rows: 0, users: 0, cents: 0, book: null },
    },
  ],
  [
    'payouts in flight',
    {
      status: { openPayouts: 2 },
      ledger: { rows: 4, users: 4, cents: 500, book: { ...book, paidCents: 500, owedCents: 200 } },
    },
  ],
  [
    'a refund that the ledger lacks for a moment',
    { ledger: { book: { ...book, refundedCents: 0, owedCents: 300 } }, unbookedMs: 29_000 },
  ],
  ['a new rain that the ledger lacks for a moment', { ledger: { book: null }, unbookedMs: 29_000 }],
])('finds no fault in %s', (_what, changed) => {
  expect(faultsOf(books(changed))).toEqual([]);
});

it('finds no fault if no process has the ledger', () => {
  expect(faultsOf({ status, audit, ledger: undefined, unbookedMs: 0 })).toEqual([]);
});

it.each<[string, Changes, RegExp]>([
  ['a lost cent', { status: { refundedCents: 299 } }, /add up to 999 of 1000/],
  ['a made-up packet', { status: { remainingPackets: 1 } }, /add up to 11 of 10/],
  ['a problem of a bucket', { audit: { problems: ['bucket 1: it is gone'] } }, /bucket 1: it is gone/],
  ['more paid than granted', { ledger: { cents: 701 } }, /paid 701 cents, but 700 are granted/],
  ['less paid in the end', { ledger: { cents: 699 } }, /paid 699 cents of 700 granted, and no payout is in flight/],
  ['a user who was paid twice', { ledger: { users: 5 } }, /6 payouts to 5 users/],
  ['payouts that contradict', { ledger: { conflicts: 1 } }, /refused 1 payouts/],
  ['another funding', { ledger: { book: { ...book, fundedCents: 999 } } }, /funding of 999 cents instead of 1000/],
  ['other payouts', { ledger: { book: { ...book, paidCents: 699 } } }, /699 cents paid, but its payouts have 700/],
  [
    'a refund that was not',
    { ledger: { book: { ...book, refundedCents: 301 } } },
    /301 cents refunded, but Redis has 300/,
  ],
  [
    'more paid out than paid in',
    { ledger: { cents: 701, book: { ...book, paidCents: 701, owedCents: -1 } } },
    /1001 cents paid and refunded of 1000 funded/,
  ],
  ['a missing entry', { ledger: { book: null }, unbookedMs: 31_000 }, /no entry for over 30 s/],
  [
    'a missing refund',
    { ledger: { book: { ...book, refundedCents: 0, owedCents: 300 } }, unbookedMs: 31_000 },
    /lacked a refund for over 30 s/,
  ],
])('finds %s', (_what, changed, fault) => {
  expect(faultsOf(books(changed)).join('\n')).toMatch(fault);
});
