import type { BeforeApplicationShutdown, OnModuleDestroy } from '@nestjs/common';
import { type ScriptRegistry } from 'luanest/script-registry';
import { Checks, draining, type KnownOptions } from '../../../internal/src';
import type { StreamConsumerService } from 'luanest/stream-consumer';
import { payoutAccessOf } from '../activity/payout-access';
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
/** Defaults that differ from those of StreamConsumerModule. */
const DEFAULTS = { attempts: 20, pollMs: 250 };
const checks = new Checks('RedPacketPayouts');

/**
 * Pays winners: calls the app's handler for payouts, and reports the state of payouts. Methods throw InvalidOptionError without a
 * `StreamConsumerModule` on the same ScriptRegistry; those with an activity id throw InvalidInputError for an invalid id.
 */
export class RedPacketPayouts implements OnModuleDestroy, BeforeApplicationShutdown {
  private readonly runs = new Set<PayoutRunner>();
  private closing: Promise<void> | undefined;

  constructor(
    private readonly packets: RedPacketService,
    private readonly streams: StreamConsumerService | undefined,
    private readonly registry?: ScriptRegistry,
  ) {}

  /**
   * Calls a handler for the payouts of all activities until the run is stopped or the app shuts down, also for payouts that a
   * process left when it died. The handler may be called more than once for a payout. So it must pay by `idempotencyKey`, or book
   * into a ledger with UNIQUE (activityKey, packetId) and UNIQUE (activityKey, userId). Any number of processes may have a run.
   * Start it after the app has booted.
   *
   * @throws InvalidOptionError for invalid options, if this service has a run already, and if the app does not import
   *   StreamConsumerModule or gives it another ScriptRegistry
   */
  run(handler: PayoutHandler, options: PayoutOptions = {}): PayoutRun {
    const streams = this.needed();
    checks.fn('handler', handler, 'of a payout');
    const { discoverMs = 1_000, ...given } = checks.options('', options, KNOWN);
    checks.integer('discoverMs', discoverMs, 10, 60_000);
    const { pollMs = DEFAULTS.pollMs, attempts = DEFAULTS.attempts } = given;
    const consumer = { ...given, pollMs, attempts };
    streams.checkOptions({ ...consumer, stream: 'red-packet', group: 'payouts' });
    for (const run of this.runs) {
      if (run.stopped) this.runs.delete(run);
      else throw checks.error('This process already has a payout run. Stop that run before you start another one.');
    }
    const run = new PayoutRunner(this.packets, payoutAccessOf(this.packets).index, streams, handler, {
      consumer,
      discoverMs,
    });
    this.runs.add(run);
    run.start();
    return run;
  }

  /**
   * Counts the payouts of an activity by state. Returns undefined if there is no such activity.
   *
   * @throws the errors of ScriptRegistry.run()
   */
  async stats(activityId: string): Promise<PayoutStats | undefined> {
    const outbox = await this.outboxOf(activityId);
    if (outbox === undefined) return undefined;
    const stats = await outbox.with((streams, stream, group) => streams.stats(stream, group));
    const { length: open, pending, oldestMs, dead: deadLetters, sessions: consumers } = stats;
    return { open, pending, oldestMs, deadLetters, consumers };
  }

  /**
   * Reads a page of dead-lettered payouts; of each bucket, the oldest first. A payout that is dead-lettered before the first page
   * is read, and still after the last one, is listed exactly once. Other payouts may be replayed or dropped between two pages.
   *
   * @param page `limit` from 1 to 500, default 100; `cursor`: the `nextCursor` of the previous page
   * @returns a page without items if there is no such activity
   * @throws InvalidInputError for an invalid id, limit or cursor; the errors of ScriptRegistry.run()
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
   * Replays dead-lettered payouts: the handler is called again, from attempt 1 on.
   *
   * @param ids the `id` of each `PayoutDeadLetter`. An id that is not dead-lettered any more is ignored.
   * @returns how many were replayed
   * @throws InvalidInputError for a text that cannot be such an id
   */
  async replay(activityId: string, ids: readonly string[]): Promise<number> {
    return this.changed(activityId, (streams, stream, group) => streams.replay(stream, group, ids));
  }

  /**
   * Replays all dead-lettered payouts of an activity. Those that are dead-lettered while the call runs may stay. If it rejects,
   * some may be replayed: call it again.
   *
   * @returns how many were replayed
   */
  async replayAll(activityId: string): Promise<number> {
    return this.changed(activityId, (streams, stream, group) => streams.replayAll(stream, group));
  }

  /**
   * Deletes dead-lettered payouts, so that no handler is called for them any more. Use it for payouts that you paid by other
   * means.
   *
   * @param ids the `id` of each `PayoutDeadLetter`. An id that is not dead-lettered any more is ignored.
   * @returns how many were deleted
   * @throws InvalidInputError for a text that cannot be such an id
   */
  async drop(activityId: string, ids: readonly string[]): Promise<number> {
    return this.changed(activityId, (streams, stream, group) => streams.drop(stream, group, ids));
  }

  /**
   * Deletes all dead-lettered payouts of an activity. Those that are dead-lettered while the call runs may stay. If it rejects,
   * some may be deleted: call it again.
   *
   * @returns how many were deleted
   */
  async dropAll(activityId: string): Promise<number> {
    return this.changed(activityId, (streams, stream, group) => streams.dropAll(stream, group));
  }

  /** Stops the run of this process, see `PayoutRun.stop`. `beforeApplicationShutdown` waits for that. */
  onModuleDestroy(): void {
    this.closing ??= draining(this.stopRuns());
  }

  beforeApplicationShutdown(): Promise<void> | undefined {
    this.onModuleDestroy();
    return this.closing;
  }

  private async stopRuns(): Promise<void> {
    await Promise.all([...this.runs].map((run) => run.stop()));
  }

  /** Replays or drops dead letters, and wakes the activity, so that payout runs read it, or report that it has none any more. */
  private async changed(
    activityId: string,
    change: Parameters<typeof Outbox.prototype.with<number>>[0],
  ): Promise<number> {
    const { wakes } = payoutAccessOf(this.packets);
    const outbox = await this.outboxOf(activityId);
    if (outbox === undefined) return 0;
    const count = await outbox.with(change);
    wakes.wake(activityId);
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
        'StreamConsumerModule uses another ScriptRegistry than RedPacketModule, so it cannot read the payouts. ' +
          'Give both modules the same registry.',
      );
    }
    if (streams !== undefined) return streams;
    throw checks.error('Payouts need StreamConsumerModule. Import StreamConsumerModule.forRoot() in the root module.');
  }
}
