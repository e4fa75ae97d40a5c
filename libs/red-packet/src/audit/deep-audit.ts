import type { ScriptRegistry } from 'luanest/script-registry';
import type { Read } from '../activity/lifecycle';
import { homeOf, keysOf, type Layout } from '../buckets/layout';
import type { Transfers } from '../buckets/transfers';
import { MAX_DEAD_LETTERS, type Outboxes } from '../payouts/outboxes';
import { checkDeadId } from '../red-packet.input';
import { readGrant } from '../activity/results.scripts';
import { type BucketReading } from '../buckets/bucket.scripts';
import type { Amount, AuditOptions, DeepBooks, PaidPacket, PaidPackets, RepairResult } from './audit.types';
import { PacketBook } from './packet-book';
import { Problems } from './problem-list';
import { countRecords, unpaidOf, type Unpaid } from './record-count';

/** Maximum number of counts of all records. They are counted again if something changed during a count. */
const MAX_COUNTS = 3;
/** Maximum number of packets in each of the lists `rewound` and `unpaid`. */
const MAX_LISTED = 100;

/** Numbers from one count of all records. `quiet` is true if nothing changed meanwhile. */
interface Count {
  readonly book: PacketBook;
  readonly problems: Problems;
  /** Number of open payouts of each bucket. */
  readonly outboxRows: readonly number[];
  readonly deadLetters: number;
  readonly quiet: boolean;
}

/** Counts the records of an activity, and compares them with its counters and the ledger. */
export class DeepAudit {
  constructor(
    private readonly registry: ScriptRegistry,
    private readonly transfers: Transfers,
    private readonly outboxes: Outboxes,
  ) {}

  /**
   * Counts all records. Adds to `problems` up to 100 packets that the ledger has paid, but that were not granted. If nothing changed
   * meanwhile, also adds all differences between the records and the counters.
   */
  async run({ layout, readings }: Read, ledger: AuditOptions['ledger'], problems: Problems): Promise<DeepBooks> {
    const { before, count } = await this.countQuietly(layout, readings);
    const { book, deadLetters, quiet } = count;
    const outboxRows = count.outboxRows.reduce((sum, rows) => sum + rows, 0);
    let unpaid: readonly Unpaid[] = [];
    const paid = await this.ledger(layout, ledger, book);
    if (quiet) {
      book.checkPresence();
      compareAll(book, before, outboxRows, count.problems);
      problems.include(count.problems);
      if (ledger !== undefined) unpaid = await unpaidOf(this.registry, layout, book);
      for (const { packetId, userId, amountCents } of unpaid) {
        problems.add(
          `packet ${packetId} is granted to ${JSON.stringify(userId)} (${amountCents} cents), but the ledger has not paid it, and Redis ` +
            'has no payout for it. Call repairPayouts() to pay it',
        );
      }
    }
    for (const { packetId, userId } of paid.rewound) {
      problems.add(
        `the ledger has paid packet ${packetId} to ${JSON.stringify(userId)}, but in Redis this user was not granted it (a failover may ` +
          'have lost the grant). Call conflict() with it, if you have not done so',
      );
    }
    const [spent, total] = [
      paid.paid.cents + book.count('refunded').cents,
      sumOf(before, ({ totalCents }) => totalCents),
    ];
    // Each packet that was paid without a grant is a problem already. It is another problem if the app has spent more than the total.
    if (spent > total) {
      problems.add(
        `the ledger has paid and Redis has refunded ${spent} cents together, more than the ${total} cents of the activity`,
      );
    }
    return {
      quiet,
      granted: book.count('granted'),
      pool: book.count('pool'),
      refunded: book.count('refunded'),
      moving: book.count('moving'),
      voided: book.count('voided'),
      outboxRows,
      deadLetters,
      ...paid,
      unpaid: unpaid
        .slice(0, MAX_LISTED)
        .map(({ userId, packetId, amountCents }) => ({ userId, packetId, amountCents })),
    };
  }

  // See DECISIONS.md: lost-rows-are-restored
  /** Restores the payouts of unpaid winners. Lost payouts that the ledger has paid count as paid. Throws the errors of `repairPayouts`. */
  async repair({ layout, readings }: Read, ledger: PaidPackets): Promise<RepairResult> {
    const repairs = await Promise.all(layout.buckets.map((keys) => this.outboxes.repairsOf(keys)));
    const { before, count } = await this.countQuietly(layout, readings);
    if (!count.quiet) return { status: 'busy', requeued: 0 };
    await this.ledger(layout, ledger, count.book);
    const unpaid = await unpaidOf(this.registry, layout, count.book);
    const lost = before.map(({ openPayouts }, bucket) => {
      const rows = unpaid.filter((row) => row.bucket === bucket);
      return { bucket, rows, paid: openPayouts - (count.outboxRows[bucket] ?? 0) - rows.length };
    });
    // More winners are unpaid than payouts are lost. An operator may have dropped payouts after paying them by other means.
    if (lost.some(({ paid }) => paid < 0)) return { status: 'unclear', requeued: 0 };
    let requeued = 0;
    for (const { bucket, rows, paid } of lost) {
      requeued += await this.outboxes.restore(keysOf(layout, bucket), repairs[bucket] ?? -1, paid, rows);
    }
    return { status: 'repaired', requeued };
  }

  /** Counts all records; if something changed meanwhile, counts again, up to three times in all. */
  private async countQuietly(
    layout: Layout,
    readings: readonly BucketReading[],
  ): Promise<{ readonly before: readonly BucketReading[]; readonly count: Count }> {
    let [before, count] = [readings, await this.count(layout, readings)];
    for (let turn = 1; turn < MAX_COUNTS && !count.quiet; turn++) {
      before = await this.transfers.readAll(layout);
      count = await this.count(layout, before);
    }
    return { before, count };
  }

  private async count(layout: Layout, before: readonly BucketReading[]): Promise<Count> {
    const problems = new Problems();
    const book = new PacketBook(before[0]?.allPackets ?? 0, problems);
    const outboxRows = await countRecords(this.registry, layout, before, book);
    const deadLetters = await this.countDeadLetters(layout, book);
    const quiet = isSame(before, await this.transfers.readAll(layout));
    return { book, problems, outboxRows, deadLetters, quiet };
  }

  /** Counts the packets of the ledger, and their cents. Returns up to 100 of them whose grants Redis does not have. */
  private async ledger(layout: Layout, ledger: AuditOptions['ledger'] = [], book: PacketBook) {
    const rewound: PaidPacket[] = [];
    let [packets, cents] = [0, 0];
    for await (const row of ledger) {
      packets += 1;
      cents += row.amountCents;
      // The packet may have been granted after the count, so Redis is asked for its grant.
      if (book.notePaid(row) || (await this.holds(layout, row))) continue;
      if (rewound.length < MAX_LISTED) rewound.push(row);
    }
    return { paid: { packets, cents }, rewound };
  }

  /** Counts dead-lettered payouts. If one is replayed meanwhile, the number of open payouts changes, so all records are counted again. */
  private async countDeadLetters(layout: Layout, book: PacketBook): Promise<number> {
    let count = 0;
    for (let cursor: string | undefined = '0:0-0'; cursor !== undefined;) {
      const from = checkDeadId('cursor', cursor);
      const page: Awaited<ReturnType<Outboxes['deadLetters']>> = await this.outboxes.deadLetters(
        layout,
        MAX_DEAD_LETTERS,
        from,
      );
      for (const { payload } of page.items) if (payload !== undefined) book.noteDeadLetter(payload);
      count += page.items.length;
      cursor = page.nextCursor;
    }
    return count;
  }

  private async holds(layout: Layout, { userId, packetId }: PaidPacket): Promise<boolean> {
    const { grants } = keysOf(layout, homeOf(layout, userId));
    const { packet, byLedger } = await this.registry.run(readGrant, { keys: { grants }, args: { userId } });
    return packet?.packetId === packetId && !byLedger;
  }
}

/** Returns true if no packet and no payout changed between two readings of all buckets. */
function isSame(before: readonly BucketReading[], after: readonly BucketReading[]): boolean {
  return JSON.stringify(before) === JSON.stringify(after);
}

function sumOf(readings: readonly BucketReading[], pick: (reading: BucketReading) => number): number {
  return readings.reduce((total, reading) => total + pick(reading), 0);
}

function compareAll(
  book: PacketBook,
  readings: readonly BucketReading[],
  outboxRows: number,
  problems: Problems,
): void {
  const sum = (pick: (reading: BucketReading) => number): number => sumOf(readings, pick);
  const same = (what: string, counted: Amount, packets: number, cents: number): void => {
    problems.compare(`packets ${what}, counted one by one`, counted.packets, 'by the counters in Redis', packets);
    problems.compare(`cents ${what}, counted one by one`, counted.cents, 'by the counters in Redis', cents);
  };
  const [granted, voided] = [book.count('granted'), book.count('voided')];
  const spent = { packets: granted.packets + voided.packets, cents: granted.cents + voided.cents };
  same(
    'granted',
    spent,
    sum(({ granted: packets }) => packets),
    sum(({ grantedCents }) => grantedCents),
  );
  same(
    'left',
    book.count('pool'),
    sum(({ pooled }) => pooled),
    sum(({ pooledCents }) => pooledCents),
  );
  same(
    'refunded',
    book.count('refunded'),
    sum(({ refundedPackets }) => refundedPackets),
    sum(({ refundedCents }) => refundedCents),
  );
  same(
    'moving between buckets',
    book.count('moving'),
    sum(({ sentPackets, receivedPackets }) => sentPackets - receivedPackets),
    sum(({ sentCents, receivedCents }) => sentCents - receivedCents),
  );
  problems.compare(
    'open payouts, counted one by one',
    outboxRows,
    'by the counters in Redis',
    sum(({ openPayouts }) => openPayouts),
  );
}
