import { Logger } from '@nestjs/common';
import {
  deadLetter,
  StreamConsumerClosedError,
  type HandlerResult,
  type StreamConsumerHandle,
  type StreamConsumerService,
  type StreamMessage,
} from 'luanest/stream-consumer';
import type { RedPacketService } from '../red-packet.service';
import { grantOf, Outbox, PAYOUT_GROUP } from './outbox';
import type { Payout, PayoutHandler, PayoutOptions, PayoutRun } from './payouts.types';

/** How often an activity whose outbox is read is looked after, in looks for new ones. */
const TEND_EVERY = 10;
/** How long an activity that is closed and paid is left alone, ms: a dead letter may be replayed from elsewhere. */
const REST_MS = 30_000;

/** The options, with what differs from those of StreamConsumerModule filled in. */
export type ResolvedPayoutOptions = PayoutOptions & { readonly discoverMs: number };

interface Reading {
  readonly outbox: Outbox;
  readonly keys: string;
  readonly handle: StreamConsumerHandle;
}

/** Reads the outboxes of all activities: of those that come up, until they are closed and paid. */
export class PayoutRunner implements PayoutRun {
  private readonly logger = new Logger('RedPacketPayouts');
  private readonly readings = new Map<string, Reading>();
  /** When to look again at activities that are closed and paid. */
  private readonly resting = new Map<string, number>();
  private looks = 0;
  private timer: NodeJS.Timeout | undefined;
  private looking = Promise.resolve();
  private stopping = false;
  private problem = '';

  constructor(
    private readonly packets: Pick<RedPacketService, 'activities' | 'status' | 'outboxes'>,
    private readonly streams: StreamConsumerService,
    private readonly handler: PayoutHandler,
    private readonly options: ResolvedPayoutOptions,
  ) {}

  get activities(): readonly string[] {
    return [...this.readings.keys()];
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
      for (const activityId of this.readings.keys()) if (!known.has(activityId)) await this.end(activityId);
      for (const activityId of this.resting.keys()) if (!known.has(activityId)) this.resting.delete(activityId);
      const tends = this.looks++ % TEND_EVERY === 0;
      const now = performance.now();
      let failure: { readonly error: unknown } | undefined;
      for (const activityId of known) {
        if (this.stopping) return;
        if ((this.resting.get(activityId) ?? 0) > now || (this.readings.has(activityId) && !tends)) continue;
        // The winners of the other activities should not wait for a fault of this one.
        await this.tend(activityId).catch((error: unknown) => (failure ??= { error }));
      }
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
    if (status === undefined || status.state === 'draft') return;
    if (status.state === 'closed' && status.outboxLength === 0) {
      await this.end(activityId);
      this.resting.set(activityId, performance.now() + REST_MS);
      return;
    }
    const outboxes = await this.packets.outboxes(activityId);
    const keys = outboxes.join(' ');
    const reading = this.readings.get(activityId);
    if (reading?.keys === keys || outboxes.length === 0) return;
    // The id is that of a new activity, with another number of buckets.
    if (reading) await this.end(activityId);
    const outbox = new Outbox(this.streams, activityId, outboxes);
    outbox.define();
    const handle = await this.streams.consume(
      { ...this.options, stream: outbox.stream, group: PAYOUT_GROUP },
      (message) => this.pay(activityId, message),
    );
    this.readings.set(activityId, { outbox, keys, handle });
  }

  private async end(activityId: string): Promise<void> {
    const reading = this.readings.get(activityId);
    if (reading === undefined) return;
    this.readings.delete(activityId);
    await reading.handle.stop();
    reading.outbox.forget();
  }

  private pay(activityId: string, message: StreamMessage): HandlerResult | Promise<HandlerResult> {
    const grant = grantOf(message.payload);
    if (grant === undefined) return deadLetter('This entry of the outbox was not written by a grab.');
    const { userId, packetId, amountCents, grantedAtMs } = grant;
    const payout: Payout = {
      activityId,
      userId,
      packetId,
      amountCents,
      grantedAtMs,
      idempotencyKey: `${encodeURIComponent(activityId)}:${packetId}`,
      attempt: message.attempt,
      get signal() {
        return message.signal;
      },
    };
    return this.handler(payout);
  }
}
