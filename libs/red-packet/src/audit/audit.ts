import type { ScriptRegistry } from 'luanest/script-registry';
import type { Read } from '../activity/lifecycle';
import { statusOf } from '../activity/status';
import type { Transfers } from '../buckets/transfers';
import type { BucketReading } from '../buckets/bucket.scripts';
import type { Outboxes } from '../payouts/outboxes';
import type { AuditOptions, AuditResult, BucketBooks, Ledger, PaidPackets, RepairResult } from './audit.types';
import type { ActivityStatus } from '../red-packet.types';
import { DeepAudit } from './deep-audit';
import { refuse } from '../red-packet.input';
import { Problems } from './problem-list';

/**
 * Checks that an activity's packets and cents add up: those left, granted, refunded and on the way. A deep audit also reads all records. If
 * nothing changes meanwhile, it checks that every packet is in exactly one of these places, or that its grant is void.
 */
export class Audit {
  private readonly deep: DeepAudit;

  constructor(
    registry: ScriptRegistry,
    transfers: Transfers,
    outboxes: Outboxes,
    private readonly ledger: Ledger | undefined,
  ) {
    this.deep = new DeepAudit(registry, transfers, outboxes);
  }

  async run(activityId: string, read: Read, options: AuditOptions): Promise<AuditResult> {
    const { readings } = read;
    const problems = new Problems();
    const status = statusOf(activityId, readings);
    const report = {
      activityId,
      state: status.state,
      total: { packets: status.packets, cents: status.totalCents },
      moving: { packets: status.movingPackets, cents: status.movingCents },
      buckets: readings.map(booksOf),
    };
    // The buckets of a draft may not have all packets yet, so their counters are not compared.
    if (status.state !== 'draft') {
      for (const [bucket, reading] of readings.entries()) checkBucket(bucket, reading, problems);
      const allotted = readings.reduce((sum, { packets }) => sum + packets, 0);
      problems.compare('packets of all buckets together', allotted, 'packets of the activity', status.packets);
    }
    const wanted = options.deep === true || options.ledger !== undefined;
    const deep =
      wanted && status.state !== 'draft'
        ? await this.deep.run(read, await this.paid(status, options), problems)
        : undefined;
    const list = problems.list();
    return { ...report, ok: list.length === 0, problems: list, ...(deep !== undefined && { deep }) };
  }

  async repair(activityId: string, read: Read, ledger: PaidPackets | undefined): Promise<RepairResult> {
    const status = statusOf(activityId, read.readings);
    const paid = await this.paid(status, { ledger });
    if (paid === undefined)
      return refuse(
        'ledger',
        paid,
        'the packets that were paid, as an argument of this call or from the option ledger of RedPacketModule',
      );
    if (status.state === 'draft') return { status: 'repaired', requeued: 0 };
    return this.deep.repair(read, paid);
  }

  /** Returns the packets that the ledger has paid: those given to the audit, or those that the option `ledger` returns. */
  private async paid(
    { activityId, activityKey }: ActivityStatus,
    options: { readonly ledger?: PaidPackets | undefined },
  ): Promise<AuditOptions['ledger']> {
    return options.ledger ?? (await this.ledger?.({ activityId, activityKey }));
  }
}

function booksOf(reading: BucketReading, bucket: number): BucketBooks {
  return {
    bucket,
    allotted: { packets: reading.packets, cents: reading.totalCents },
    pool: { packets: reading.pooled, cents: reading.pooledCents },
    granted: { packets: reading.granted, cents: reading.grantedCents },
    refunded: { packets: reading.refundedPackets, cents: reading.refundedCents },
    sent: { packets: reading.sentPackets, cents: reading.sentCents },
    received: { packets: reading.receivedPackets, cents: reading.receivedCents },
  };
}

/**
 * Adds a problem for each number of a bucket that is wrong. There is no counter for the cents that are left, so they are computed from the
 * first and the last packet.
 */
function checkBucket(bucket: number, reading: BucketReading, problems: Problems): void {
  const name = `bucket ${bucket}:`;
  if (reading.state === '') {
    problems.add(
      `bucket ${bucket} is lost: Redis no longer has the key with its parameters, so its packets cannot be granted`,
    );
    return;
  }
  const packets = reading.pooled + reading.granted + reading.refundedPackets + reading.sentPackets;
  problems.compare(
    `${name} packets left + granted + refunded + moved out - moved in`,
    packets - reading.receivedPackets,
    'packets that it was created with',
    reading.packets,
  );
  const cents = reading.pooledCents + reading.grantedCents + reading.refundedCents + reading.sentCents;
  problems.compare(
    `${name} cents left + granted + refunded + moved out - moved in`,
    cents - reading.receivedCents,
    'cents that it was created with',
    reading.totalCents,
  );
  problems.compare(
    `${name} its counter heldCents`,
    reading.heldCents,
    'cents that it was created with + moved in - moved out',
    reading.totalCents + reading.receivedCents - reading.sentCents,
  );
  problems.compare(
    `${name} its counter of refunded packets`,
    reading.refundedPackets,
    'refunded packets that Redis lists',
    reading.refundRecords,
  );
}
