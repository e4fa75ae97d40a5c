import type { ScriptRegistry } from 'luanest/script-registry';
import { confirmTransfer, readBucket, receivePackets, sendPackets } from './bucket.scripts';
import type { BucketReading, SentPackets } from './bucket.scripts';
import { keysOf, type Layout } from './layout';

/** Largest number of packets of one transfer. */
const MOST_PACKETS = 500;
/** Packets that arrived less than this ago are not moved again, ms: the grabs that waited for them are about to come. */
export const REST_MS = 50;

/** Indexes of the buckets of a transfer. */
export interface Direction {
  readonly from: number;
  readonly to: number;
}

/**
 * Moves packets between buckets in three steps, each of which any process may repeat: the source moves packets from its pool to
 * a record, the destination adds them to its pool once, the source deletes the record. A repeated first step returns the
 * record.
 * See DECISIONS.md: packets-move-to-users
 */
export class Transfers {
  constructor(private readonly registry: ScriptRegistry) {}

  /** Reads all buckets, in parallel: each at an instant of its own. */
  readAll({ buckets }: Layout): Promise<BucketReading[]> {
    return Promise.all(buckets.map((keys) => this.registry.run(readBucket, { keys, args: {} })));
  }

  /** Moves packets, or finishes the transfer of this direction that is on record. Returns how many arrived. */
  async move(layout: Layout, direction: Direction, most = MOST_PACKETS): Promise<number> {
    const sent = await this.send(layout, direction, most);
    if (sent === undefined) return 0;
    const arrived = await this.receive(layout, direction, sent);
    if (arrived) await this.confirm(layout, direction, sent);
    return arrived ? sent.packets.length : 0;
  }

  /** First step: takes packets from the source. Returns undefined if the source has none to give. */
  async send(layout: Layout, { from, to }: Direction, most = MOST_PACKETS): Promise<SentPackets | undefined> {
    const { meta, pool, moves } = keysOf(layout, from);
    const args = { to, most, restMs: REST_MS };
    return (await this.registry.run(sendPackets, { keys: { meta, pool, moves }, args })).sent;
  }

  /** Second step: adds packets to the destination. Returns false if there is no such bucket. */
  async receive(layout: Layout, { from, to }: Direction, { sequence, packets }: SentPackets): Promise<boolean> {
    const { meta, pool, moves, refunds } = keysOf(layout, to);
    const keys = { meta, pool, moves, refunds };
    return (await this.registry.run(receivePackets, { keys, args: { from, sequence, packets } })) !== 'missing';
  }

  /** Third step: deletes the record at the source. */
  async confirm(layout: Layout, { from, to }: Direction, { sequence }: SentPackets): Promise<void> {
    const { moves } = keysOf(layout, from);
    await this.registry.run(confirmTransfer, { keys: { moves }, args: { to, sequence } });
  }

  /** Finishes every transfer that the readings show as begun. Returns how many there were. */
  async finish(layout: Layout, readings: readonly BucketReading[]): Promise<number> {
    const directions = readings.flatMap(({ outgoing }, from) => outgoing.map((to) => ({ from, to })));
    // 0 new packets: another process may have finished the transfer meanwhile.
    await Promise.all(directions.map((direction) => this.move(layout, direction, 0)));
    return directions.length;
  }
}
