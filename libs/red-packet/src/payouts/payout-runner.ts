import { Logger } from '@nestjs/common';
import {
  deadLetter,
  retryLater,
  StreamConsumerClosedError,
  type HandlerResult,
  type StreamConsumerHandle,
  type StreamConsumerOptions,
  type StreamConsumerService,
  type StreamMessage,
} from 'luanest/stream-consumer';
import { activityKeyOf } from '../activity-key';
import type { RedPacketService } from '../red-packet.service';
import type { ActivityState } from '../red-packet.types';
import { PAYOUT_GROUP } from '../buckets/layout';
import { Debts } from './debts';
import { grantOf, Outbox } from './outbox';
import type { Payout, PayoutHandler, PayoutRun } from './payouts.types';

/** Activities whose outboxes are being read are checked in every tenth search for activities. */
const CHECK_EVERY = 10;
/** Time between two checks of an activity that is closed and paid, ms: another process may replay a dead letter. */
const CLOSED_REST_MS = 30_000;
/** Time between two checks of an activity that is paid, but not closed, ms: a failover may bring packets back. */
const PAID_REST_MS = 5_000;

/** Options of a run, with every default filled in that differs from that of StreamConsumerModule. */
interface ResolvedPayoutOptions {
  /** Options of the consumers of the outboxes. */
  readonly consumer: Omit<StreamConsumerOptions, 'stream' | 'group'>;
  readonly discoverMs: number;
}

/** Activities that are checked at the same time: those on an unavailable master must not delay the others. */
const CHECKED_AT_ONCE = 16;
/** States in which nothing is granted. */
const WITHOUT_GRANTS: readonly ActivityState[] = ['closed', 'ended', 'sold-out'];

interface Reading {
  readonly outbox: Outbox;
  readonly keys: string;
  /** When Redis forgets the activity, ms since 1970: a grant after it belongs to a new activity with the same id. */
  readonly expiresAtMs: number;
  readonly handle: StreamConsumerHandle;
}

/** Finds activities and reads their outboxes until they are closed and paid. */
export class PayoutRunner implements PayoutRun {
  private readonly logger = new Logger('RedPacketPayouts');
  private readonly debts = new Debts(this.logger);
  private readonly readings = new Map<string, Reading>();
  /** Activities that are paid, and when to check them again, by `performance.now()`. */
  private readonly resting = new Map<string, number>();
  /** Activities of which a row showed that their ids belong to new activities; the next search checks them. */
  private readonly replaced = new Set<string>();
  private searches = 0;
  private timer: NodeJS.Timeout | undefined;
  private searching = Promise.resolve();
  private stopping = false;
  private problem = '';

  constructor(
    private readonly packets: Pick<RedPacketService, 'activities' | 'status' | 'outboxes' | 'settle'>,
    private readonly streams: StreamConsumerService,
    private readonly handler: PayoutHandler,
    private readonly options: ResolvedPayoutOptions,
  ) {}

  get activities(): readonly string[] {
    return [...this.readings.keys()];
  }

  /** True if `stop` was called, or stream-consumer is closed. */
  get stopped(): boolean {
    return this.stopping;
  }

  /** Starts to search for activities. */
  start(): void {
    this.searching = this.search().finally(() => {
      const pauseMs = this.options.discoverMs * (0.75 + Math.random() / 2);
      if (!this.stopping) this.timer = setTimeout(() => this.start(), pauseMs);
    });
  }

  async stop(): Promise<void> {
    this.stopping = true;
    clearTimeout(this.timer);
    await this.searching;
    await Promise.all([...this.readings.keys()].map((activityId) => this.end(activityId)));
  }

  /** Has the next search check an activity, also if it is paid. */
  wake(activityId: string): void {
    this.resting.delete(activityId);
  }

  private async search(): Promise<void> {
    try {
      const known = new Set(await this.packets.activities());
      for (const activityId of this.resting.keys()) if (!known.has(activityId)) this.resting.delete(activityId);
      // The index may be lost: activities whose outboxes are being read are checked anyway.
      for (const activityId of this.readings.keys()) known.add(activityId);
      const checksAll = this.searches++ % CHECK_EVERY === 0;
      const now = performance.now();
      const due = [...known].filter(
        (id) => (this.resting.get(id) ?? 0) <= now && (checksAll || !this.readings.has(id) || this.replaced.has(id)),
      );
      let failure: { readonly error: unknown } | undefined;
      const workers = Array.from({ length: CHECKED_AT_ONCE }, async () => {
        for (let id = due.pop(); id !== undefined && !this.stopping; id = due.pop()) {
          await this.check(id).catch((error: unknown) => (failure ??= { error }));
        }
      });
      await Promise.all(workers);
      if (failure) throw failure.error;
      if (this.problem !== '') this.logger.log('All outboxes are found again.');
      this.problem = '';
    } catch (error) {
      if (error instanceof StreamConsumerClosedError) {
        this.stopping = true;
        return;
      }
      const problem = String(error);
      if (this.problem !== problem)
        this.logger.warn(`Some outboxes cannot be found; the search is repeated: ${problem}`);
      this.problem = problem;
    }
  }

  private async check(activityId: string): Promise<void> {
    const status = await this.packets.status(activityId);
    this.replaced.delete(activityId);
    this.debts.check(activityId, status);
    if (status === undefined || (status.state === 'draft' && status.overdue)) {
      await this.end(activityId);
      await this.packets.settle(activityId);
      return;
    }
    if (status.state === 'draft') return;
    const { expiresAtMs } = status;
    if (WITHOUT_GRANTS.includes(status.state) && status.outboxLength === 0) {
      await this.end(activityId);
      if (!status.settled && status.state !== 'sold-out') await this.packets.settle(activityId);
      // Only a short rest if a new activity may use this id soon.
      const restMs = status.state === 'closed' ? Math.min(CLOSED_REST_MS, expiresAtMs - Date.now()) : 0;
      this.resting.set(activityId, performance.now() + Math.max(PAID_REST_MS, restMs));
      return;
    }
    const outboxes = await this.packets.outboxes(activityId);
    const keys = outboxes.join(' ');
    const reading = this.readings.get(activityId);
    if (outboxes.length === 0 || (reading?.keys === keys && reading.expiresAtMs === expiresAtMs)) return;
    // The id belongs to a new activity now.
    if (reading) await this.end(activityId);
    const outbox = new Outbox(this.streams, outboxes);
    const handle = await this.streams.consume(
      { ...this.options.consumer, stream: outbox.stream, group: PAYOUT_GROUP },
      (message) => this.pay(activityId, expiresAtMs, message),
    );
    this.readings.set(activityId, { outbox, keys, expiresAtMs, handle });
  }

  private async end(activityId: string): Promise<void> {
    const reading = this.readings.get(activityId);
    if (reading === undefined) return;
    this.readings.delete(activityId);
    await reading.handle.stop();
    reading.outbox.forget();
  }

  private pay(activityId: string, expiresAtMs: number, message: StreamMessage): HandlerResult | Promise<HandlerResult> {
    const grant = grantOf(message.payload);
    if (grant === undefined) return deadLetter('This entry of the outbox was not written by a grab.');
    const { userId, packetId, amountCents, grantedAtMs } = grant;
    if (grantedAtMs >= expiresAtMs) {
      this.replaced.add(activityId);
      return retryLater({ delayMs: this.options.discoverMs });
    }
    const activityKey = activityKeyOf(activityId, expiresAtMs);
    const payout: Payout = {
      activityId,
      activityKey,
      userId,
      packetId,
      amountCents,
      grantedAtMs,
      idempotencyKey: `${activityKey}:${packetId}`,
      attempt: message.attempt,
      get signal() {
        return message.signal;
      },
    };
    return this.handler(payout);
  }
}
