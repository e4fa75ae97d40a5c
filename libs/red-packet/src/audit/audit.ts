import type { ScriptRegistry } from 'luanest/script-registry';
import type { StreamConsumerService } from 'luanest/stream-consumer';
import { statusOf, type Read } from '../activity/lifecycle';
import type { Transfers } from '../buckets/transfers';
import type { BucketReading } from '../buckets/bucket.scripts';
import type { AuditOptions, AuditReport, BucketBooks } from './audit.types';
import { DeepAudit } from './deep-audit';
import { Problems } from './problem-list';

/** Checks that every packet and every cent is in exactly one place. */
export class Audit {
  private readonly deep: DeepAudit;

  /** @param streams reads the dead letters of the outboxes; undefined skips them */
  constructor(registry: ScriptRegistry, transfers: Transfers, streams: StreamConsumerService | undefined) {
    this.deep = new DeepAudit(registry, transfers, streams);
  }

  /** Checks the counters of each bucket; with `deep` or a ledger also all records. */
  async run(activityId: string, read: Read, options: AuditOptions): Promise<AuditReport> {
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
    // The pools of a draft are incomplete.
    if (status.state !== 'draft') {
      for (const [bucket, reading] of readings.entries()) checkBucket(bucket, reading, problems);
      const allotted = readings.reduce((sum, { packets }) => sum + packets, 0);
      problems.compare('packets allotted to buckets', allotted, 'packets', status.packets);
    }
    const wanted = options.deep === true || options.ledger !== undefined;
    const deep = wanted && status.state !== 'draft' ? await this.deep.run(read, options, problems) : undefined;
    const list = problems.list();
    return { ...report, ok: list.length === 0, problems: list, ...(deep !== undefined && { deep }) };
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

/** Compares the counters of a bucket. The pool's cents are read from its entries, which is why this check can fail. */
function checkBucket(bucket: number, reading: BucketReading, problems: Problems): void {
  const name = `bucket ${bucket}:`;
  if (reading.state === '') {
    problems.add(`${name} its keys are lost`);
    return;
  }
  const packets = reading.pooled + reading.granted + reading.refundedPackets + reading.sentPackets;
  problems.compare(
    `${name} packets pooled, granted, refunded and sent less received`,
    packets - reading.receivedPackets,
    'allotted',
    reading.packets,
  );
  const cents = reading.pooledCents + reading.grantedCents + reading.refundedCents + reading.sentCents;
  problems.compare(
    `${name} cents pooled, granted, refunded and sent less received`,
    cents - reading.receivedCents,
    'allotted',
    reading.totalCents,
  );
  problems.compare(
    `${name} cents held`,
    reading.heldCents,
    'allotted and received less sent',
    reading.totalCents + reading.receivedCents - reading.sentCents,
  );
  problems.compare(`${name} packets refunded`, reading.refundedPackets, 'records of them', reading.refundRecords);
}
