import { Logger } from '@nestjs/common';
import {
  deadLetter,
  retryLater,
  type HandlerResult,
  type StreamConsumerHandle,
  type StreamConsumerOptions,
  type StreamConsumerService,
  type StreamMessage,
} from 'luanest/stream-consumer';
import { thrownText, time, ClosedError } from '../../../internal/src';
import type { ActivityIndex } from '../activity/activity-index';
import { activityKeyOf } from '../activity-key';
import type { RedPacketService } from '../red-packet.service';
import type { ActivityState } from '../red-packet.types';
import { PAYOUT_GROUP } from '../buckets/layout';
import { ActivityFinder } from './activity-finder';
import { CheckQueue } from './check-queue';
import { Debts } from './debts';
import { Loop } from './loop';
import { grantOf, Outbox } from './outbox';
import type { Payout, PayoutHandler, PayoutRun } from './payouts.types';

/** Checks that failed are repeated after `discoverMs`. Every second time, all activities that are being read are checked. */
const CHECK_EVERY = 2;
/**
 * For how long nothing must have been won before the outboxes of an open activity are no longer read, ms. Longer than the pause
 * between two wakes of one process, so that winners in this pause are paid without a wake.
 */
const QUIET_MS = 2_000;
/**
 * Pause before the next check of a closed activity without open payouts, ms; PAID_REST_MS near the end of its retention. It is
 * checked because it may be settled later.
 */
const CLOSED_REST_MS = 30_000;
/** Pause before the next check of an activity that has ended, is sold out or is gone, and has no open payouts, ms. */
const PAID_REST_MS = 5_000;

/** Options of a payout run. Options that are left out have the defaults of StreamConsumerModule. */
interface ResolvedPayoutOptions {
  readonly consumer: Omit<StreamConsumerOptions, 'stream' | 'group'> & { readonly pollMs: number };
  readonly discoverMs: number;
}

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
  /** When a check last found that packets were granted, by `time.monotonicMs()`. */
  grantedAt: number;
}

/** Finds activities, and reads the outboxes of those that have open payouts, or in which packets were won just before. */
export class PayoutRunner implements PayoutRun {
  private readonly logger = new Logger('RedPacketPayouts');
  private readonly debts = new Debts(this.logger);
  private readonly readings = new Map<string, Reading>();
  private readonly checks = new CheckQueue((activityId) => this.tries(() => this.check(activityId)));
  private readonly finder: ActivityFinder;
  private readonly loops: readonly Loop[];
  private repeats = 0;
  private failures = 0;
  private stopping = false;
  private problem = '';

  constructor(
    private readonly packets: Pick<RedPacketService, 'status' | 'outboxes' | 'settle'>,
    private readonly index: Pick<ActivityIndex, 'add' | 'page' | 'look' | 'wokenAfter'>,
    private readonly streams: StreamConsumerService,
    private readonly handler: PayoutHandler,
    private readonly options: ResolvedPayoutOptions,
  ) {
    const { discoverMs, consumer } = options;
    this.finder = new ActivityFinder(index, (activityId, isReachable) => this.found(activityId, isReachable));
    const pauseMs = (): number => discoverMs * (0.75 + Math.random() / 2);
    this.loops = [
      new Loop(
        () => this.tries(() => this.finder.poll()),
        () => consumer.pollMs * (0.5 + Math.random() / 2),
      ),
      new Loop(() => this.search(), pauseMs),
      // Not a part of the search, which may take minutes while a master is unavailable.
      new Loop(() => this.repeat(), pauseMs),
    ];
  }

  get activities(): readonly string[] {
    return [...this.readings.keys()];
  }

  /** True after `stop` was called, or after the run has found stream-consumer closed. */
  get stopped(): boolean {
    return this.stopping;
  }

  start(): void {
    for (const loop of this.loops) loop.start();
  }

  async stop(): Promise<void> {
    this.stopping = true;
    this.finder.stop();
    await Promise.all(this.loops.map((loop) => loop.stop()));
    await this.checks.stop();
    await Promise.all([...this.readings.keys()].map((activityId) => this.end(activityId)));
  }

  private async search(): Promise<void> {
    const { failures } = this;
    await this.tries(() => this.finder.search());
    if (this.problem === '' || this.failures > failures || !this.checks.isEmpty) return;
    this.logger.log('The search for payouts works again.');
    this.problem = '';
  }

  private repeat(): void {
    this.checks.repeat(this.repeats++ % CHECK_EVERY === 0 ? this.readings.keys() : []);
  }

  private found(activityId: string, isReachable: boolean): void {
    // Activities that are being read are checked by `repeat`. A check that is running may have read the status before
    // the packet was won.
    if (!this.readings.has(activityId) || this.checks.isRunning(activityId)) this.checks.add(activityId, isReachable);
  }

  /** Does some work of the run. Logs a failure. @returns false if the work failed */
  private async tries(work: () => Promise<void>): Promise<boolean> {
    if (this.stopping) return true;
    try {
      await work();
      return true;
    } catch (error) {
      if (error instanceof ClosedError) {
        this.stopping = true;
        void Promise.all(this.loops.map((loop) => loop.stop()));
        return true;
      }
      this.failures += 1;
      const problem = thrownText(error);
      if (this.problem !== problem)
        this.logger.warn(
          `The search for payouts failed for some or all activities. Until it works again, payouts may be late. ${problem}`,
        );
      this.problem = problem;
      return false;
    }
  }

  /** Starts or stops reading the outboxes of an activity, as its state demands. Settles it if it is gone, or is over and owes nothing. */
  private async check(activityId: string): Promise<void> {
    const status = await this.packets.status(activityId);
    this.debts.check(activityId, status);
    if (status === undefined || (status.state === 'draft' && status.overdue)) {
      await this.end(activityId);
      await this.packets.settle(activityId);
      this.finder.rest(activityId, PAID_REST_MS);
      return;
    }
    if (status.state === 'draft') return;
    const { expiresAtMs, grantedPackets: granted } = status;
    if (WITHOUT_GRANTS.includes(status.state) && status.outboxLength === 0) {
      if (status.state === 'sold-out') await this.leave(activityId, expiresAtMs);
      else await this.end(activityId);
      if (!status.settled && status.state !== 'sold-out') await this.packets.settle(activityId);
      // A new activity may use this id when Redis has forgotten this one, so the pause ends then.
      const restMs = status.state === 'closed' ? Math.min(CLOSED_REST_MS, expiresAtMs - time.nowMs()) : 0;
      this.finder.rest(activityId, Math.max(PAID_REST_MS, restMs));
      return;
    }
    const reading = this.readings.get(activityId);
    if (reading && reading.granted !== granted) [reading.granted, reading.grantedAt] = [granted, time.monotonicMs()];
    if (status.outboxLength === 0 && !(reading && time.monotonicMs() - reading.grantedAt < QUIET_MS)) {
      // Nothing was won for some time. The next winner wakes the activity.
      await this.leave(activityId, expiresAtMs);
      return;
    }
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
    this.readings.set(activityId, { outbox, keys, expiresAtMs, handle, granted, grantedAt: time.monotonicMs() });
  }

  /** Stops reading an activity that searches must find later. Redis may have lost the index, so the activity is added to it. */
  private async leave(activityId: string, expiresAtMs: number): Promise<void> {
    if (this.readings.has(activityId)) await this.index.add(activityId, 1, expiresAtMs);
    await this.end(activityId);
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
      // The later activity is not read yet, so no handler has seen its payout. If it is not found, `overdue` is logged.
      this.checks.add(activityId);
      return retryLater({ delayMs: this.options.discoverMs, countsAsAttempt: false });
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
