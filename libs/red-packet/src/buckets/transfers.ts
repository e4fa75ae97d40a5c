import type { ScriptRegistry } from 'luanest/script-registry';
import { confirmTransfer, readBucket, receivePackets, sendPackets } from './bucket.scripts';
import type { BucketReading, SentPackets } from './bucket.scripts';
import { keysOf, type Layout } from './layout';

/** Most packets of one transfer. */
const MOST_PACKETS = 500;
/** Packets that came so lately are not taken away again: those who waited for them are on their way. */
export const REST_MS = 50;

/** Where packets go from and to. */
export interface Way {
  readonly from: number;
  readonly to: number;
}

/**
 * Moves packets between buckets in steps that each may be repeated, by anybody: the source keeps the packets on record,
 * the destination takes them once, the source forgets. Whoever sends again on the same way finds what is on record.
 * See DECISIONS.md: packets-move-to-users
 */
export class Transfers {
  constructor(private readonly registry: ScriptRegistry) {}

  /** Each bucket at an instant of its own, one as late as another. */
  readAll({ buckets }: Layout): Promise<BucketReading[]> {
    return Promise.all(buckets.map((keys) => this.registry.run(readBucket, { keys, args: {} })));
  }

  /** Moves packets, those first that are already on this way. Answers how many arrived; 0 where the source gave none. */
  async move(layout: Layout, way: Way, most = MOST_PACKETS): Promise<number> {
    const sent = await this.send(layout, way, most);
    if (sent === undefined) return 0;
    const arrived = await this.receive(layout, way, sent);
    if (arrived) await this.confirm(layout, way, sent);
    return arrived ? sent.packets.length : 0;
  }

  /** The first step. Undefined where the source has nothing to give. */
  async send(layout: Layout, { from, to }: Way, most = MOST_PACKETS): Promise<SentPackets | undefined> {
    const { meta, pool, moves } = keysOf(layout, from);
    const args = { to, most, restMs: REST_MS };
    return (await this.registry.run(sendPackets, { keys: { meta, pool, moves }, args })).sent;
  }

  /** The second step. False where there is no such bucket to receive them. */
  async receive(layout: Layout, { from, to }: Way, { sequence, packets }: SentPackets): Promise<boolean> {
    const { meta, pool, moves, refunds } = keysOf(layout, to);
    const keys = { meta, pool, moves, refunds };
    return (await this.registry.run(receivePackets, { keys, args: { from, sequence, packets } })) !== 'missing';
  }

  /** The third step. */
  async confirm(layout: Layout, { from, to }: Way, { sequence }: SentPackets): Promise<void> {
    const { moves } = keysOf(layout, from);
    await this.registry.run(confirmTransfer, { keys: { moves }, args: { to, sequence } });
  }

  /** Ends every transfer that the readings show as begun. Answers how many there were. */
  async finish(layout: Layout, readings: readonly BucketReading[]): Promise<number> {
    const ways = readings.flatMap(({ outgoing }, from) => outgoing.map((to) => ({ from, to })));
    // At most 0 further ones: somebody else may have ended the transfer meanwhile.
    await Promise.all(ways.map((way) => this.move(layout, way, 0)));
    return ways.length;
  }
}
