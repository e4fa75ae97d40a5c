import { Logger } from '@nestjs/common';
import {
  deadLetter,
  retryLater,
  StreamConsumerClosedError,
  type HandlerResult,
  type StreamConsumerHandle,
  type StreamConsumerService,
  type StreamMessage,
} from 'luanest/stream-consumer';
import { activityKeyOf } from '../activity-key';
import type { RedPacketService } from '../red-packet.service';
import type { ActivityState } from '../red-packet.types';
import { PAYOUT_GROUP } from '../buckets/layout';
import { Debts } from './debts';
import { grantOf, Outbox } from './outbox';
import type { Payout, PayoutHandler, PayoutOptions, PayoutRun } from './payouts.types';

/** How often an activity whose outbox is read is looked after, in looks for new ones. */
const TEND_EVERY = 10;
/** How long an activity that is closed and paid is left alone, ms: a dead letter may be replayed from elsewhere. */
const REST_MS = 30_000;
/** Likewise of one that is paid and not closed: a failover may bring packets back. */
const PAUSE_MS = 5_000;

/** The options, with what differs from those of StreamConsumerModule filled in. */
interface ResolvedPayoutOptions {
  /** Those of the consumers of outboxes. */
  readonly consumer: Omit<PayoutOptions, 'discoverMs'>;
  readonly discoverMs: number;
}

/** Activities that are looked after at a time: those on a master that is away must not keep the others waiting. */
const AT_A_TIME = 16;
/** States in which nothing is granted. */
const QUIET: readonly ActivityState[] = ['closed', 'ended', 'sold-out'];

interface Reading {
  readonly outbox: Outbox;
  readonly keys: string;
  /** When Redis forgets the activity: what is granted later is another one's, of the same id. */
  readonly expiresAtMs: number;
  readonly handle: StreamConsumerHandle;
}

/** Reads the outboxes of all activities: of those that come up, until they are closed and paid. */
export class PayoutRunner implements PayoutRun {
  private readonly logger = new Logger('RedPacketPayouts');
  private readonly debts = new Debts(this.logger);
  private readonly readings = new Map<string, Reading>();
  /** When to look again at activities that are closed and paid. */
  private readonly resting = new Map<string, number>();
  /** Activities whose ids are those of new ones, as a row of theirs has shown. */
  private readonly behind = new Set<string>();
  private looks = 0;
  private timer: NodeJS.Timeout | undefined;
  private looking = Promise.resolve();
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

  /** Whether `stop` was called. */
  get stopped(): boolean {
    return this.stopping;
  }

  /** Begins to look for activities. */
  start(): void {
    this.looking = this.look().finally(() => {
      const pauseMs = this.options.discoverMs * (0.75 + Math.random() / 2);
      if (!this.stopping) this.timer = setTimeout(() => this.start(), pauseMs);
    });
  }

  async stop(): Promise<void> {
    this.stopping = true;
    clearTimeout(this.timer);
    await this.looking;
    await Promise.all([...this.readings.keys()].map((activityId) => this.end(activityId)));
  }

  /** Lets the next look see an activity that rested. */
  wake(activityId: string): void {
    this.resting.delete(activityId);
  }

  private async look(): Promise<void> {
    try {
      const known = new Set(await this.packets.activities());
      for (const activityId of this.resting.keys()) if (!known.has(activityId)) this.resting.delete(activityId);
      // An index that was lost says nothing of activities: those that are read are asked themselves.
      for (const activityId of this.readings.keys()) known.add(activityId);
      const tends = this.looks++ % TEND_EVERY === 0;
      const now = performance.now();
      const due = [...known].filter(
        (id) => (this.resting.get(id) ?? 0) <= now && (tends || !this.readings.has(id) || this.behind.has(id)),
      );
      let failure: { readonly error: unknown } | undefined;
      const tending = Array.from({ length: AT_A_TIME }, async () => {
        for (let id = due.pop(); id !== undefined && !this.stopping; id = due.pop()) {
          await this.tend(id).catch((error: unknown) => (failure ??= { error }));
        }
      });
      await Promise.all(tending);
      if (failure) throw failure.error;
      if (this.problem !== '') this.logger.log('Outboxes are found again.');
      this.problem = '';
    } catch (error) {
      if (error instanceof StreamConsumerClosedError) {
        this.stopping = true;
        return;
      }
      const problem = String(error);
      if (this.problem !== problem) this.logger.warn(`Not all outboxes can be found, which is tried again: ${problem}`);
      this.problem = problem;
    }
  }

  private async tend(activityId: string): Promise<void> {
    const status = await this.packets.status(activityId);
    this.behind.delete(activityId);
    this.debts.see(activityId, status);
    if (status === undefined || (status.state === 'draft' && status.overdue)) {
      await this.end(activityId);
      await this.packets.settle(activityId);
      return;
    }
    if (status.state === 'draft') return;
    const { expiresAtMs } = status;
    if (QUIET.includes(status.state) && status.outboxLength === 0) {
      await this.end(activityId);
      if (!status.settled && status.state !== 'sold-out') await this.packets.settle(activityId);
      // Not for long where another activity of this id may follow soon.
      const restMs = status.state === 'closed' ? Math.min(REST_MS, expiresAtMs - Date.now()) : 0;
      this.resting.set(activityId, performance.now() + Math.max(PAUSE_MS, restMs));
      return;
    }
    const outboxes = await this.packets.outboxes(activityId);
    const keys = outboxes.join(' ');
    const reading = this.readings.get(activityId);
    if (outboxes.length === 0 || (reading?.keys === keys && reading.expiresAtMs === expiresAtMs)) return;
    // The id is that of a new activity.
    if (reading) await this.end(activityId);
    const outbox = new Outbox(this.streams, outboxes);
    outbox.define();
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
      this.behind.add(activityId);
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
