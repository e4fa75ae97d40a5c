import { createHash } from 'node:crypto';
import { InvalidOptionError } from '../../../internal/src';
import {
  defineStream,
  type AnyStream,
  type DeadLetterRecord,
  type StreamConsumerService,
} from 'luanest/stream-consumer';
import { PAYOUT_GROUP } from '../buckets/layout';
import type { GrantRecord } from '../red-packet.types';
import { checkBucket, checkDeadCursor, type BucketPosition } from '../red-packet.input';
import type { PayoutDeadLetter, PayoutDeadLetterPage } from './payouts.types';

/** Largest page of dead-lettered payouts. */
export const MAX_DEAD_LETTERS = 500;

/**
 * Returns the name of the stream that an activity's outboxes form. The keys are hashed, not the activity's id, because activities
 * on two registries may have the same id.
 */
function streamOf(keys: readonly string[]): string {
  return `red-packet.${createHash('sha256').update(JSON.stringify(keys)).digest('hex').slice(0, 32)}`;
}

/** Reads the grant from a payout row. Returns undefined for an entry that is not such a row, as one of another program. */
export function grantOf(fields: unknown): GrantRecord | undefined {
  const { user, packet, cents, at } = (fields ?? {}) as Record<string, unknown>;
  const [amountCents, grantedAtMs] = [Number(cents), Number(at)];
  const isGrant =
    typeof user === 'string' && user !== '' && typeof packet === 'string' && /^[1-9]\d{0,6}$/.test(packet);
  if (!isGrant || !Number.isSafeInteger(amountCents) || amountCents < 1 || !(grantedAtMs > 0)) return undefined;
  return { userId: user, packetId: packet, amountCents, grantedAtMs };
}

function deadLetterOf({ payload, ...letter }: DeadLetterRecord): PayoutDeadLetter {
  const { id, error, attempts, firstSeenAtMs, deadAtMs } = letter;
  return { id, payout: grantOf(payload), error, attempts, firstSeenAtMs, deadAtMs };
}

// See DECISIONS.md: outboxes-are-streams
/** The outboxes of an activity: streams of payout rows, one for each bucket. `stream-consumer` reads them as one stream. */
export class Outbox {
  readonly stream: AnyStream;

  constructor(
    private readonly streams: StreamConsumerService,
    private readonly keys: readonly string[],
  ) {
    this.stream = defineStream({ name: streamOf(keys), keys, deleteAfter: [PAYOUT_GROUP] });
  }

  /** Calls `use` with the stream, and `forget`. Otherwise the memory of stream-consumer would grow with each activity. */
  async with<T>(use: (streams: StreamConsumerService, stream: AnyStream, group: string) => Promise<T>): Promise<T> {
    const used = use(this.streams, this.stream, PAYOUT_GROUP);
    this.forget();
    return used;
  }

  /** Makes stream-consumer forget the stream, unless a consumer of this process reads it. */
  forget(): void {
    try {
      this.streams.forgetStream(this.stream);
    } catch (error) {
      if (!(error instanceof InvalidOptionError)) throw error;
    }
  }

  /**
   * Reads a page of dead-lettered payouts.
   *
   * @param cursor the cursor that the previous page returned; undefined for the first page
   * @throws InvalidInputError if the cursor names a bucket that the activity does not have
   */
  async page(limit: number, cursor?: BucketPosition): Promise<PayoutDeadLetterPage> {
    if (cursor !== undefined) checkBucket(cursor.at, cursor.bucket, this.keys.length);
    const { items, ...next } = await this.with((streams, stream, group) =>
      streams.deadLetters(stream, group, { limit, cursor: cursor?.at }),
    );
    return { items: items.map(deadLetterOf), ...next };
  }

  async *deadLetters(): AsyncGenerator<PayoutDeadLetter> {
    for (let page: PayoutDeadLetterPage | undefined = await this.page(MAX_DEAD_LETTERS); page !== undefined;) {
      yield* page.items;
      const { nextCursor }: PayoutDeadLetterPage = page;
      page = nextCursor === undefined ? undefined : await this.page(MAX_DEAD_LETTERS, checkDeadCursor(nextCursor));
    }
  }
}
