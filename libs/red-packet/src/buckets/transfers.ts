import type { ScriptRegistry } from 'luanest/script-registry';
import { confirmTransfer, readBucket, receivePackets, sendPackets } from './bucket.scripts';
import type { BucketReading, Sent, SentPackets } from './bucket.scripts';
import { Replicated } from '../replicated';
import { keysOf, type Layout } from './layout';

const MOST_PACKETS = 500;
/** After a bucket has received packets, it sends none for this time, ms, so that the users who waited for them can get them. */
export const REST_MS = 50;

/** Indexes of the buckets between which packets move. */
export interface Direction {
  readonly from: number;
  readonly to: number;
}

/**
 * Moves packets between buckets (shards of an activity) in three steps, which any process may repeat. First, the source puts packets into a
 * record; an existing record is returned again. Second, the destination adds the packets once: to those that can be won, or to its refunds
 * if it is closed. Third, the source deletes the record.
 * See DECISIONS.md: packets-move-to-users
 */
export class Transfers {
  /** @param replicated waits for replicas after the first and the second step. Default: does not wait */
  constructor(
    private readonly registry: ScriptRegistry,
    private readonly replicated = new Replicated(registry, { replicas: 0, replicasTimeoutMs: 1 }),
  ) {}

  /** Reads all buckets in parallel, each at one moment, but not all at the same moment. */
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
   * First step: puts packets of the source into a record. Returns undefined if the source gives no packets now.
   *
   * @throws NotReplicatedError if a failover may undo this step, so that the destination must not get the packets
   */
  async send(layout: Layout, { from, to }: Direction, most = MOST_PACKETS): Promise<Sent | undefined> {
    const { meta, pool, moves } = keysOf(layout, from);
    const args = { to, most, restMs: REST_MS };
    const input = { keys: { meta, pool, moves }, args };
    const step = 'Packets were taken out of a bucket to move them to another one';
    return (await this.replicated.step(step, sendPackets, input, ({ sent }) => sent !== undefined)).sent;
  }

  /**
   * Second step: adds the packets to the destination, or to its refunds if it is closed. A repetition adds nothing. Returns false if Redis
   * does not have this bucket of the activity, or if it is a draft.
   *
   * @throws NotReplicatedError if a failover may undo this step, so that the source must keep its record
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

  /** Third step: deletes the record of the source. Does nothing if it was deleted before. */
  async confirm(layout: Layout, { from, to }: Direction, { sequence }: SentPackets): Promise<void> {
    const { moves } = keysOf(layout, from);
    await this.registry.run(confirmTransfer, { keys: { moves }, args: { to, sequence } });
  }

  /** Tries to finish the unfinished transfers. Returns their number. */
  async finish(layout: Layout, readings: readonly BucketReading[]): Promise<number> {
    const directions = readings.flatMap(({ outgoing }, from) => outgoing.map((to) => ({ from, to })));
    // Another process may have finished the transfer meanwhile. With a `most` of 0, no new transfer begins then.
    await Promise.all(directions.map((direction) => this.move(layout, direction, 0)));
    return directions.length;
  }
}
