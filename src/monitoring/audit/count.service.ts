import { Injectable } from '@nestjs/common';
import { LockService, type Lock, type LockStatus } from 'luanest/lock';
import { RedPacketService, type ActivityStatus } from 'luanest/red-packet';
import { NodeService } from '../nodes/node.service';
import { AccountsService } from './accounts.service';
import { type CountRecord, CountRecords } from './count-records';
import { LedgerReader } from '../../ledger/ledger-reader';
import { refusal } from '../../platform/refusal.filter';

const LOCK = 'rain.count';
const LEASE_MS = 10_000;
const MOST_PROBLEMS = 20;

/** Counts all records of a rain in Redis and in the ledger, with the balance of each user who was paid. A count loads Redis, so a lock lets one process count at a time. */
@Injectable()
export class CountService {
  constructor(
    private readonly packets: RedPacketService,
    private readonly ledger: LedgerReader,
    private readonly locks: LockService,
    private readonly records: CountRecords,
    private readonly nodes: NodeService,
    private readonly accounts: AccountsService,
  ) {}

  /**
   * Counts the records, and stores the result unless the stored one has a higher fencing token.
   *
   * @param waitMs longest wait for the lock while another count of any rain is in flight, ms
   * @returns undefined for a rain that Redis does not know
   * @throws {HttpException} 409 for a draft
   * @throws {LockBusyError} if other counts held the lock during all of `waitMs`
   * @throws {LostError} if the lock was lost. The result is stored only if this process did not know of the loss by then
   * @throws {LedgerUnavailableError} if the ledger became unavailable during the count
   * @throws the errors of ScriptRegistry.run() if Redis fails
   */
  count(activityId: string, waitMs: number): Promise<CountRecord | undefined> {
    return this.locks.withLock(LOCK, { leaseMs: LEASE_MS, waitMs }, (lock) => this.underLock(activityId, lock));
  }

  /** Reads the last count of a rain, which is stored for seven days; undefined if no count is stored. */
  last({ activityKey }: Pick<ActivityStatus, 'activityKey'>): Promise<CountRecord | undefined> {
    return this.records.last(activityKey);
  }

  /** Reads the state of the lock, with the process that counts now. */
  lock(): Promise<LockStatus> {
    return this.locks.status(LOCK);
  }

  private async underLock(activityId: string, lock: Lock): Promise<CountRecord | undefined> {
    const started = performance.now();
    const status = await this.packets.status(activityId);
    if (status === undefined) return undefined;
    const { activityKey } = status;
    const ledger = await this.ledger.payouts(activityKey);
    const report = await this.packets.audit(activityId, { deep: true, ...(ledger !== undefined && { ledger }) });
    if (report === undefined) return undefined;
    const { deep } = report;
    if (deep === undefined) {
      throw refusal(409, 'COUNT_OF_DRAFT', 'The rain is a draft, so its packets are not counted. Preheat it first.');
    }
    const wrong = ledger === undefined ? [] : await this.accounts.faultsOf(activityKey);
    const problems = [...report.problems, ...wrong];
    lock.assertHeld();
    const record: CountRecord = {
      atMs: Date.now(),
      node: this.nodes.node,
      fence: lock.fence,
      tookMs: Math.round(performance.now() - started),
      ok: problems.length === 0,
      quiet: deep.quiet,
      problems: problems.slice(0, MOST_PROBLEMS),
      granted: deep.granted,
      pool: deep.pool,
      refunded: deep.refunded,
      paid: ledger && deep.paid,
      outboxRows: deep.outboxRows,
    };
    await this.records.note(activityKey, record);
    return record;
  }
}
