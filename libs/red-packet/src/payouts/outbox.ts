import { createHash } from 'node:crypto';
import { InvalidOptionError } from '../../../internal/src';
import type { DeadLetterRecord, StreamConsumerService } from 'luanest/stream-consumer';
import { PAYOUT_GROUP } from '../buckets/layout';
import type { GrantRecord } from '../red-packet.types';
import { checkBucket, checkDeadCursor, type Placed } from '../red-packet.input';
import type { DeadPayout, DeadPayoutPage } from './payouts.types';

/** The most dead payouts of a page. */
export const DEAD_PAGE = 500;

/** The name under which outboxes are one stream. Of their keys, since another registry may have an activity of this id. */
function streamOf(keys: readonly string[]): string {
  return `red-packet.${createHash('sha256').update(JSON.stringify(keys)).digest('hex').slice(0, 32)}`;
}

/** What a grab wrote; undefined for an entry that none wrote. */
export function grantOf(fields: unknown): GrantRecord | undefined {
  const { user, packet, cents, at } = (fields ?? {}) as Record<string, unknown>;
  const [amountCents, grantedAtMs] = [Number(cents), Number(at)];
  const isGrant =
    typeof user === 'string' && user !== '' && typeof packet === 'string' && /^[1-9]\d{0,6}$/.test(packet);
  if (!isGrant || !Number.isSafeInteger(amountCents) || amountCents < 1 || !(grantedAtMs > 0)) return undefined;
  return { userId: user, packetId: packet, amountCents, grantedAtMs };
}

/** A dead letter of the outbox. */
export function deadPayoutOf({ id, payload, error, attempts, firstSeenAt, deadAt }: DeadLetterRecord): DeadPayout {
  return { id, payout: grantOf(payload), error, attempts, firstSeenAt, deadAt };
}

// See DECISIONS.md: outboxes-are-streams
/** An activity's outboxes, one a bucket, as one stream of `stream-consumer`. */
export class Outbox {
  readonly stream: string;

  constructor(
    private readonly streams: StreamConsumerService,
    private readonly keys: readonly string[],
  ) {
    this.stream = streamOf(keys);
  }

  /**
   * Calls `use` while the stream is known. What it calls must look the stream up at once: it is forgotten again, unless it
   * is read here, since a process may see any number of activities.
   */
  async with<T>(use: (streams: StreamConsumerService, stream: string, group: string) => Promise<T>): Promise<T> {
    this.define();
    const used = use(this.streams, this.stream, PAYOUT_GROUP);
    this.forget();
    return used;
  }

  /** Makes the stream known. */
  define(): void {
    this.streams.defineStream(this.stream, { keys: this.keys, deleteAfter: [PAYOUT_GROUP] });
  }

  /** Forgets the stream, unless a consumer of this process reads it. */
  forget(): void {
    try {
      this.streams.forgetStream(this.stream);
    } catch (error) {
      if (!(error instanceof InvalidOptionError)) throw error;
    }
  }

  /** A page of dead letters. @param cursor the first page without */
  async page(limit: number, cursor?: Placed): Promise<DeadPayoutPage> {
    if (cursor !== undefined) checkBucket(cursor.at, cursor.bucket, this.keys.length);
    const { items, next } = await this.with((streams, stream, group) =>
      streams.deadLetters(stream, group, { count: limit, after: cursor?.at }),
    );
    return { items: items.map(deadPayoutOf), ...(next !== undefined && { nextCursor: next }) };
  }

  /** All dead letters. */
  async *dead(): AsyncGenerator<DeadPayout> {
    for (let page: DeadPayoutPage | undefined = await this.page(DEAD_PAGE); page !== undefined;) {
      yield* page.items;
      const { nextCursor }: DeadPayoutPage = page;
      page = nextCursor === undefined ? undefined : await this.page(DEAD_PAGE, checkDeadCursor(nextCursor));
    }
  }
}
