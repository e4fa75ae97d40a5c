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
import { thrownText } from '../../../internal/src';
import { activityKeyOf } from '../activity-key';
import type { RedPacketService } from '../red-packet.service';
import type { ActivityState } from '../red-packet.types';
import { PAYOUT_GROUP } from '../buckets/layout';
import { Debts } from './debts';
import { grantOf, Outbox } from './outbox';
import type { Payout, PayoutHandler, PayoutRun } from './payouts.types';

/** In every tenth search for activities, those whose outboxes are being read are checked too. */
const CHECK_EVERY = 10;
/**
 * Pause before the next check of a closed activity without open payouts, ms; PAID_REST_MS near the end of its retention. It is
 * checked because another process may replay a dead-lettered payout of it.
 */
const CLOSED_REST_MS = 30_000;
/**
 * Pause before the next check of an activity that is sold out or ended, and has no open payouts, ms. It is checked because a
 * failover may bring packets back.
 */
const PAID_REST_MS = 5_000;
/** Pause before the next check of any other activity without open payouts, as a multiple of `discoverMs`. */
const IDLE_RESTS = 2;

/** Options of a payout run. Options that are left out have the defaults of StreamConsumerModule. */
interface ResolvedPayoutOptions {
  readonly consumer: Omit<StreamConsumerOptions, 'stream' | 'group'>;
  readonly discoverMs: number;
}

/**
 * Number of activities that are checked at the same time. If some are on an unavailable master, the others are checked
 * meanwhile.
 */
const CHECKED_AT_ONCE = 16;
const WITHOUT_GRANTS: readonly ActivityState[] = ['closed', 'ended', 'sold-out'];

interface Reading {
  readonly outbox: Outbox;
  /** Keys of the outboxes, separated by spaces. */
  readonly keys: string;
  /** End of the retention, ms since 1970. A grant at or after this time belongs to a later activity with the same id. */
  readonly expiresAtMs: number;
  readonly handle: StreamConsumerHandle;
  /** Packets that were granted at the last check. */
  granted: number;
}

/** Finds activities, and reads the outboxes of those that have open payouts. */
export class PayoutRunner implements PayoutRun {
  private readonly logger = new Logger('RedPacketPayouts');
  private readonly debts = new Debts(this.logger);
  private readonly readings = new Map<string, Reading>();
  /** Open activities whose outboxes are not being read, because they have no open payouts. */
  private readonly idle = new Set<string>();
  /** Activities without open payouts, and when to check them again, by `performance.now()`. */
  private readonly resting = new Map<string, number>();
  /** Ids that a later activity uses, as a payout row has shown. The next search checks these activities. */
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

  /** True after `stop` was called, or after a search has found stream-consumer closed. */
  get stopped(): boolean {
    return this.stopping;
  }

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

  /** Makes the next search check an activity, because its payouts may be open again. */
  wake(activityId: string): void {
    this.resting.delete(activityId);
  }

  private async search(): Promise<void> {
    try {
      const known = new Set(await this.packets.activities());
      for (const activityId of this.resting.keys()) if (!known.has(activityId)) this.resting.delete(activityId);
      // The index may be lost, so activities that this process has found are checked without it.
      for (const activityId of [...this.readings.keys(), ...this.idle]) known.add(activityId);
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
      if (this.problem !== '') this.logger.log('The search for payouts works again.');
      this.problem = '';
    } catch (error) {
      if (error instanceof StreamConsumerClosedError) {
        this.stopping = true;
        return;
      }
      const problem = thrownText(error);
      if (this.problem !== problem)
        this.logger.warn(
          `The search for payouts failed for one or more activities. Until a search works, payouts may be late. ${problem}`,
        );
      this.problem = problem;
    }
  }

  /** Starts or stops reading the outboxes of an activity, as its state demands, and settles it if it owes nothing. */
  private async check(activityId: string): Promise<void> {
    const status = await this.packets.status(activityId);
    this.replaced.delete(activityId);
    this.debts.check(activityId, status);
    this.idle.delete(activityId);
    if (status === undefined || (status.state === 'draft' && status.overdue)) {
      await this.end(activityId);
      await this.packets.settle(activityId);
      return;
    }
    if (status.state === 'draft') return;
    const { expiresAtMs, grantedPackets: granted } = status;
    if (WITHOUT_GRANTS.includes(status.state) && status.outboxLength === 0) {
      await this.end(activityId);
      if (!status.settled && status.state !== 'sold-out') await this.packets.settle(activityId);
      // A new activity may use this id when Redis has forgotten this one, so the pause ends then.
      const restMs = status.state === 'closed' ? Math.min(CLOSED_REST_MS, expiresAtMs - Date.now()) : 0;
      this.resting.set(activityId, performance.now() + Math.max(PAID_REST_MS, restMs));
      return;
    }
    const reading = this.readings.get(activityId);
    if (status.outboxLength === 0 && (reading === undefined || reading.granted === granted)) {
      // Nothing was won since the last check. A check costs Redis less than the polls of a consumer.
      // See DECISIONS.md: outboxes-are-streams
      await this.end(activityId);
      this.idle.add(activityId);
      this.resting.set(activityId, performance.now() + IDLE_RESTS * this.options.discoverMs);
      return;
    }
    if (reading) reading.granted = granted;
    const outboxes = await this.packets.outboxes(activityId);
    const keys = outboxes.join(' ');
    if (outboxes.length === 0 || (reading?.keys === keys && reading.expiresAtMs === expiresAtMs)) return;
    // The outboxes that are being read belong to an earlier activity with this id.
    if (reading) await this.end(activityId);
    const outbox = new Outbox(this.streams, outboxes);
    const handle = await this.streams.consume(
      { ...this.options.consumer, stream: outbox.stream, group: PAYOUT_GROUP },
      (message) => this.pay(activityId, expiresAtMs, message),
    );
    this.readings.set(activityId, { outbox, keys, expiresAtMs, handle, granted });
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
    if (grant === undefined) return deadLetter('This entry is not a payout: no grab wrote it to the outbox.');
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
