import type { ScriptRegistry } from 'luanest/script-registry';
import type { BucketKeys, Layout } from '../buckets/layout';
import { readSent, type BucketReading } from '../buckets/bucket.scripts';
import { ownerOf } from '../payouts/payout-row';
import { readHashPage, readListPage, readOutboxPage } from './audit.scripts';
import type { PaidPacket } from './audit.types';
import type { PacketBook, PacketState } from './packet-book';

const PAGE = 1_000;

/** Reads all records of an activity page by page, and notes them in `book`. Returns the number of open payouts of each bucket. */
export async function countRecords(
  registry: ScriptRegistry,
  layout: Layout,
  readings: readonly BucketReading[],
  book: PacketBook,
): Promise<number[]> {
  const pages = new Pages(registry);
  const rows: number[] = [];
  const arrived = await Promise.all(layout.buckets.map(({ moves }) => pages.arrived(moves)));
  for (const [bucket, keys] of layout.buckets.entries()) {
    await pages.grants(keys, book);
    await pages.voids(keys, book);
    await pages.list(keys.pool, 'pool', book);
    await pages.list(keys.refunds, 'refunded', book);
    await pages.moving(keys, bucket, arrived, book);
  }
  const expiresAtMs = Math.max(...readings.map((reading) => reading.expiresAtMs));
  for (const [bucket, { outbox }] of layout.buckets.entries()) {
    const owner = ownerOf(layout.activityId, expiresAtMs, layout.buckets.length, bucket);
    rows.push(await pages.outbox(outbox, owner, book));
  }
  return rows;
}

/** A winner who will not be paid, because the payout is lost. */
export interface Unpaid extends PaidPacket {
  readonly bucket: number;
  /** Grant as Redis stores it: `<packetId>:<cents>:<ms>`. */
  readonly grant: string;
}

/** Finds the users of unpaid packets. Reads the grants again for this, because PacketBook has only hashes of user ids. */
export async function unpaidOf(registry: ScriptRegistry, layout: Layout, book: PacketBook): Promise<Unpaid[]> {
  const found = new Map<string, Unpaid>();
  if (!book.hasUnpaid()) return [];
  for (const [bucket, { grants }] of layout.buckets.entries()) {
    for await (const [userId, grant] of new Pages(registry).hash(grants)) {
      const [packetId = '', cents, , byLedger] = grant.split(':');
      if (userId === '' || byLedger !== undefined || !book.isUnpaid(packetId)) continue;
      found.set(packetId, { userId, packetId, amountCents: Number(cents), bucket, grant });
    }
  }
  return [...found.values()];
}

/** Numbers of the last transfers that have arrived in one bucket, by the index of the bucket that sent them. */
type Arrived = ReadonlyMap<number, number>;

class Pages {
  constructor(private readonly registry: ScriptRegistry) {}

  async grants({ grants }: BucketKeys, book: PacketBook): Promise<void> {
    for await (const [userId, grant] of this.hash(grants)) {
      const [packetId = '', cents, , byLedger] = grant.split(':');
      // The field '' has the sum of cents, and is not a user. A grant that `conflict` has copied from the ledger is not a packet of this
      // bucket.
      if (userId !== '' && byLedger === undefined) book.put('granted', packetId, Number(cents), userId);
    }
  }

  async voids({ voids }: BucketKeys, book: PacketBook): Promise<void> {
    for await (const [packetId, text] of this.hash(voids)) {
      const [cents, , reason] = text.split(':');
      if (reason === 'packet') book.put('voided', packetId, Number(cents));
    }
  }

  async list(key: string, state: PacketState, book: PacketBook): Promise<void> {
    for (let from = 0; ; from += PAGE) {
      const args = { from, count: PAGE };
      const entries = await this.registry.run(readListPage, { keys: { packets: key }, args });
      for (const entry of entries) {
        const [packetId = '', cents] = entry.split(':');
        book.put(state, packetId, Number(cents));
      }
      if (entries.length < PAGE) return;
    }
  }

  /** Reads the packets that a bucket has sent, and that have not arrived in another one. */
  async moving({ moves }: BucketKeys, from: number, arrived: readonly Arrived[], book: PacketBook): Promise<void> {
    for await (const [field, record] of this.hash(moves)) {
      const to = /^out:(\d+)$/.exec(field)?.[1];
      if (to === undefined) continue;
      const { sequence, packets } = readSent(record);
      if ((arrived[Number(to)]?.get(from) ?? 0) >= Number(sequence)) continue;
      for (const entry of packets) {
        const [packetId = '', cents] = entry.split(':');
        book.put('moving', packetId, Number(cents));
      }
    }
  }

  async arrived(moves: string): Promise<Arrived> {
    const found = new Map<number, number>();
    for await (const [field, value] of this.hash(moves)) {
      const from = /^in:(\d+)$/.exec(field)?.[1];
      if (from !== undefined) found.set(Number(from), Number(value));
    }
    return found;
  }

  /** Reads the open payouts of one bucket, and returns their number. Other buckets have payouts in the same stream. */
  async outbox(outbox: string, owner: string, book: PacketBook): Promise<number> {
    let rows = 0;
    for (let after = '0-0'; after !== '';) {
      const page = await this.registry.run(readOutboxPage, { keys: { outbox }, args: { owner, after, count: PAGE } });
      for (const row of page.rows) book.noteRow(row);
      rows += page.rows.length;
      after = page.last;
    }
    return rows;
  }

  /** Reads the fields of a hash. May return a field twice, as HSCAN may. */
  async *hash(key: string): AsyncGenerator<readonly [string, string]> {
    for (let cursor = '0'; ;) {
      const page = await this.registry.run(readHashPage, { keys: { hash: key }, args: { cursor, count: PAGE } });
      yield* page.fields;
      if (page.cursor === '0') return;
      cursor = page.cursor;
    }
  }
}
