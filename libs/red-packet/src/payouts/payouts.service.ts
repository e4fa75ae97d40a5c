import type { BeforeApplicationShutdown } from '@nestjs/common';
import { type ScriptRegistry } from 'luanest/script-registry';
import { Checks, type KnownOptions } from '../../../internal/src';
import type { StreamConsumerService } from 'luanest/stream-consumer';
import { checkDeadCursor, checkLimit } from '../red-packet.input';
import type { RedPacketService } from '../red-packet.service';
import { MAX_DEAD_LETTERS, Outbox } from './outbox';
import { PayoutRunner } from './payout-runner';
import type { PayoutDeadLetterPage, PayoutHandler, PayoutOptions, PayoutRun, PayoutStats } from './payouts.types';

const KNOWN: KnownOptions<PayoutOptions> = {
  concurrency: true,
  leaseMs: true,
  attempts: true,
  backoff: true,
  timeoutMs: true,
  pollMs: true,
  discoverMs: true,
};
/** Defaults that differ from those of stream-consumer. */
const DEFAULTS = { attempts: 20, pollMs: 250 };
const checks = new Checks('RedPacketPayouts');

/** Calls the app's handler for each payout, and reports their state. Needs `StreamConsumerModule`. */
export class RedPacketPayouts implements BeforeApplicationShutdown {
  private readonly runs = new Set<PayoutRunner>();

  constructor(
    private readonly packets: RedPacketService,
    private readonly streams: StreamConsumerService | undefined,
    private readonly registry?: ScriptRegistry,
  ) {}

  /**
   * Calls a handler for the payouts of all activities until the app shuts down, including payouts of processes that died.
   * The handler is called at least once for each payout: pay by `idempotencyKey`, or into a ledger with both UNIQUE keys.
   * Call it after the app has booted, in as many processes as you like.
   *
   * @throws InvalidOptionError for invalid options, while another run is active in this process, and if the app does not
   *   import StreamConsumerModule or imports it on another registry
   */
  run(handler: PayoutHandler, options: PayoutOptions = {}): PayoutRun {
    const streams = this.needed();
    checks.fn('handler', handler, 'of a payout');
    const { discoverMs = 1_000, ...given } = checks.options('', options, KNOWN);
    checks.integer('discoverMs', discoverMs, 10, 60_000);
    const consumer = { ...DEFAULTS, ...given };
    streams.checkOptions({ ...consumer, stream: 'red-packet', group: 'payouts' });
    for (const run of this.runs) {
      if (run.stopped) this.runs.delete(run);
      else throw checks.error('Payouts are already running in this process. Stop that run first.');
    }
    const run = new PayoutRunner(this.packets, streams, handler, { consumer, discoverMs });
    this.runs.add(run);
    run.start();
    return run;
  }

  /** Reads the state of an activity's payouts. Returns undefined if there is no such activity. @throws errors of ScriptRegistry.run() */
  async stats(activityId: string): Promise<PayoutStats | undefined> {
    const outbox = await this.outboxOf(activityId);
    if (outbox === undefined) return undefined;
    const stats = await outbox.with((streams, stream, group) => streams.stats(stream, group));
    const { length: open, pending, oldestMs, dead: deadLetters, sessions: consumers } = stats;
    return { open, pending, oldestMs, deadLetters, consumers };
  }

  /**
   * Reads a page of dead-lettered payouts, bucket by bucket, the oldest first. A payout that is a dead letter from the first
   * page to the last is listed once, also if others are replayed, dropped or dead-lettered between two pages.
   *
   * @param page limit from 1 to 500, default 100; cursor: the `nextCursor` of the previous page
   * @throws InvalidRedPacketInputError; errors of ScriptRegistry.run()
   */
  async deadLetters(
    activityId: string,
    page: { readonly limit?: number; readonly cursor?: string } = {},
  ): Promise<PayoutDeadLetterPage> {
    const limit = checkLimit(page.limit, MAX_DEAD_LETTERS);
    const cursor = page.cursor === undefined ? undefined : checkDeadCursor(page.cursor);
    const outbox = await this.outboxOf(activityId);
    return outbox === undefined ? { items: [] } : outbox.page(limit, cursor);
  }

  /**
   * Replays dead-lettered payouts: the handler is called again, with all attempts.
   *
   * @returns how many of the ids were dead letters
   */
  async replay(activityId: string, ids: readonly string[]): Promise<number> {
    return this.replayed(activityId, (streams, stream, group) => streams.replay(stream, group, ids));
  }

  /**
   * Replays all dead-lettered payouts of an activity. Payouts that are dead-lettered after the call began stay. If the call
   * fails halfway, call it again.
   *
   * @returns how many were replayed
   */
  async replayAll(activityId: string): Promise<number> {
    return this.replayed(activityId, (streams, stream, group) => streams.replayAll(stream, group));
  }

  /** Deletes dead-lettered payouts that were settled by hand. @returns how many of the ids were dead letters */
  async drop(activityId: string, ids: readonly string[]): Promise<number> {
    const outbox = await this.outboxOf(activityId);
    return outbox === undefined ? 0 : outbox.with((streams, stream, group) => streams.drop(stream, group, ids));
  }

  /**
   * Deletes all dead-lettered payouts of an activity. Payouts that are dead-lettered after the call began stay. If the call
   * fails halfway, call it again.
   *
   * @returns how many were deleted
   */
  async dropAll(activityId: string): Promise<number> {
    const outbox = await this.outboxOf(activityId);
    return outbox === undefined ? 0 : outbox.with((streams, stream, group) => streams.dropAll(stream, group));
  }

  /** Stops the runs of this process and waits for the handlers that run. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([...this.runs].map((run) => run.stop()));
  }

  private async replayed(
    activityId: string,
    replay: Parameters<typeof Outbox.prototype.with<number>>[0],
  ): Promise<number> {
    const outbox = await this.outboxOf(activityId);
    if (outbox === undefined) return 0;
    const count = await outbox.with(replay);
    for (const run of this.runs) run.wake(activityId);
    return count;
  }

  private async outboxOf(activityId: string): Promise<Outbox | undefined> {
    const streams = this.needed();
    const keys = await this.packets.outboxes(activityId);
    return keys.length === 0 ? undefined : new Outbox(streams, keys);
  }

  private needed(): StreamConsumerService {
    const { streams, registry } = this;
    if (streams !== undefined && registry !== undefined && !streams.runsOn(registry)) {
      throw checks.error(
        'StreamConsumerModule uses another ScriptRegistry than RedPacketModule, so it would find no payouts. ' +
          'Give both the same registry.',
      );
    }
    if (streams !== undefined) return streams;
    throw checks.error('Payouts need streams. Import StreamConsumerModule.forRoot() in the root module.');
  }
}
