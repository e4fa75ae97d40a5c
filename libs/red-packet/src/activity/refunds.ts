import type { ScriptRegistry } from 'luanest/script-registry';
import { readListPage } from '../audit/audit.scripts';
import type { BucketReading } from '../buckets/bucket.scripts';
import { keysOf, type Layout } from '../buckets/layout';
import type { Ledger } from '../audit/audit.types';
import { compareRefunds } from './activity.scripts';
import { statusOf } from './status';

const PAGE = 1_000;
/** Maximum number of packets in one call, because each may need a pass over all refunds of its bucket. */
const ENTRIES_A_CALL = 100;

// See DECISIONS.md: refunds-compared-with-the-ledger
/**
 * When an activity is closed, compares the packets that were left with the ledger, so that a packet that was paid is not refunded as well.
 */
export class Refunds {
  constructor(
    private readonly registry: ScriptRegistry,
    private readonly ledger: Ledger | undefined,
  ) {}

  /**
   * Removes from the refunds of a closed activity the packets that the ledger has paid. Does this once for each bucket (shard of the
   * activity). If the ledger pays a refunded packet after that, only an audit finds it.
   *
   * @returns number of packets that were removed
   * @throws what `ledger` throws; the errors of ScriptRegistry.run()
   */
  async compare(layout: Layout, readings: readonly BucketReading[]): Promise<number> {
    const { ledger } = this;
    const isNew = ({ compared, state }: BucketReading): boolean => compared === 0 && state === 'closed';
    if (ledger === undefined || !readings.some(isNew)) return 0;
    const { activityId, activityKey, expiresAtMs } = statusOf(layout.activityId, readings);
    const paid = new Uint8Array((readings[0]?.allPackets ?? 0) + 1);
    for await (const { packetId } of await ledger({ activityId, activityKey })) paid[Number(packetId)] = 1;
    let taken = 0;
    for (const [bucket, reading] of readings.entries()) {
      if (isNew(reading)) taken += await this.takePaid(layout, bucket, expiresAtMs, paid);
    }
    return taken;
  }

  private async takePaid(layout: Layout, bucket: number, expiresAtMs: number, paid: Uint8Array): Promise<number> {
    const { meta, grants, voids, refunds } = keysOf(layout, bucket);
    const found: string[] = [];
    for (let from = 0; ; from += PAGE) {
      const entries = await this.registry.run(readListPage, {
        keys: { packets: refunds },
        args: { from, count: PAGE },
      });
      found.push(...entries.filter((entry) => paid[Number.parseInt(entry, 10)] === 1));
      if (entries.length < PAGE) break;
    }
    let taken = 0;
    for (let at = 0; at === 0 || at < found.length; at += ENTRIES_A_CALL) {
      const last = at + ENTRIES_A_CALL >= found.length ? 1 : 0;
      const args = { last, expiresAtMs, entries: found.slice(at, at + ENTRIES_A_CALL) };
      taken += await this.registry.run(compareRefunds, { keys: { meta, grants, voids, refunds }, args });
    }
    return taken;
  }
}
