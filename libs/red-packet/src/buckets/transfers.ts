import type { ScriptRegistry } from 'luanest/script-registry';
import { confirmTransfer, readBucket, receivePackets, sendPackets } from './bucket.scripts';
import type { BucketReading, Sent, SentPackets } from './bucket.scripts';
import { Replicated } from '../replicated';
import { keysOf, type Layout } from './layout';

const MOST_PACKETS = 500;
/**
 * Time in which a bucket sends no packets after it has received some, ms. In this time, grabs that waited for the packets can get
 * them.
 */
export const REST_MS = 50;

/** Direction of a transfer: indexes of the source bucket and the destination bucket. */
export interface Direction {
  readonly from: number;
  readonly to: number;
}

/**
 * Moves packets between buckets (shards of an activity) in three steps. Any process may repeat a step. First, the source bucket moves
 * packets from its pool to a record. If there is a record already, this step returns it. Second, the destination bucket adds the
 * packets to its pool, or to its refunds if it is closed. It does this once. Third, the source bucket deletes the record.
 * See DECISIONS.md: packets-move-to-users
 */
export class Transfers {
  /** @param replicated waits for replicas after the first step and after the second. Default: does not wait */
  constructor(
    private readonly registry: ScriptRegistry,
    private readonly replicated = new Replicated(registry, { replicas: 0, replicasTimeoutMs: 1 }),
  ) {}

  /** Reads all buckets in parallel. Each is read at one instant, but not all at the same instant. */
  readAll({ buckets }: Layout): Promise<BucketReading[]> {
    return Promise.all(buckets.map((keys) => this.registry.run(readBucket, { keys, args: {} })));
  }

  /**
   * Moves packets from one bucket to another. If there is an unfinished transfer in this direction, finishes that transfer instead.
   *
   * @param most maximum number of packets to move; 0 only finishes a transfer
   * @returns number of packets of the transfer that have arrived, by this call or an earlier one
   */
  async move(layout: Layout, direction: Direction, most = MOST_PACKETS): Promise<number> {
    const sent = await this.send(layout, direction, most);
    if (sent === undefined) return 0;
    const arrived = await this.receive(layout, direction, sent);
    if (arrived) await this.confirm(layout, direction, sent);
    return arrived ? sent.packets.length : 0;
  }

  /**
   * First step: moves packets from the source's pool to a record. Returns undefined if the source gives no packets now.
   *
   * @throws NotReplicatedError if a failover may undo this step. The destination must then not get the packets
   */
  async send(layout: Layout, { from, to }: Direction, most = MOST_PACKETS): Promise<Sent | undefined> {
    const { meta, pool, moves } = keysOf(layout, from);
    const args = { to, most, restMs: REST_MS };
    const input = { keys: { meta, pool, moves }, args };
    const step = 'Packets were taken out of a bucket to move them to another one';
    return (await this.replicated.step(step, sendPackets, input, ({ sent }) => sent !== undefined)).sent;
  }

  /**
   * Second step: adds the packets to the pool of the destination, or to its refunds if it is closed. A repetition adds nothing.
   * Returns false if Redis does not have the destination bucket of this activity, or if that bucket is a draft.
   *
   * @throws NotReplicatedError if a failover may undo this step. The source must then keep its record
   */
  async receive(layout: Layout, { from, to }: Direction, { sequence, expiresAtMs, packets }: Sent): Promise<boolean> {
    const { meta, pool, moves, refunds } = keysOf(layout, to);
    const keys = { meta, pool, moves, refunds };
    const input = { keys, args: { from, sequence, expiresAtMs, packets } };
    const isDone = (status: string): boolean => status !== 'missing';
    return isDone(
      await this.replicated.step(
        'Packets that were moved were added to their new bucket',
        receivePackets,
        input,
        isDone,
      ),
    );
  }

  /** Third step: deletes the record at the source. Does nothing if it was deleted before. */
  async confirm(layout: Layout, { from, to }: Direction, { sequence }: SentPackets): Promise<void> {
    const { moves } = keysOf(layout, from);
    await this.registry.run(confirmTransfer, { keys: { moves }, args: { to, sequence } });
  }

  /** Tries to finish every transfer that is unfinished in the readings. Returns the number of these transfers. */
  async finish(layout: Layout, readings: readonly BucketReading[]): Promise<number> {
    const directions = readings.flatMap(({ outgoing }, from) => outgoing.map((to) => ({ from, to })));
    // With 0, move() does not begin a new transfer if another process has finished this one meanwhile.
    await Promise.all(directions.map((direction) => this.move(layout, direction, 0)));
    return directions.length;
  }
}
