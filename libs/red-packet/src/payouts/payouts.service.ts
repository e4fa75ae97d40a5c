import type { BeforeApplicationShutdown, OnModuleDestroy } from '@nestjs/common';
import type { ScriptRegistry } from 'luanest/script-registry';
import { defineStream, type StreamConsumerService, type StreamStats } from 'luanest/stream-consumer';
import { Checks, CONSOLE, draining, INSPECT, type Page } from '../../../internal/src';
import { KNOWN_WORK, type WorkOptions } from '../../../worker/src';
import type { Activities } from '../activity/activities';
import { PAYOUT_GROUP, type Layout } from '../buckets/layout';
import { checkActivityId, checkDeadId, checkLimit } from '../red-packet.input';
import { MAX_DEAD_LETTERS, Outboxes } from './outboxes';
import { messages, MOST_ATTEMPTS, PayoutRunner } from './payout-runner';
import type { Payout, PayoutDeadLetter, PayoutHandler, PayoutRun, PayoutStats } from './payouts.types';

/** Default of the option `attempts`, which is higher than that of StreamConsumerModule. */
const ATTEMPTS = 20;
const checks = new Checks('RedPacketPayouts');

interface PayoutsInspection {
  /** True if this process calls a handler for payouts. */
  readonly paying: boolean;
  /** Makes this process look for payouts now. */
  readonly readNow: () => void;
  /** Makes later payout runs call `watcher` before each call of a handler. */
  readonly watch: (watcher: PayoutWatcher) => void;
}

/** Function of luanest/testing, called before each call of a handler. @param message stream message of the payout */
type PayoutWatcher = (payout: Payout, message: { readonly stream: string; readonly id: string } | undefined) => void;

/**
 * Pays winners: calls the app's handler for payouts, and reports the state of payouts. Methods with an activity id throw
 * InvalidInputError for an invalid id.
 */
export class RedPacketPayouts implements OnModuleDestroy, BeforeApplicationShutdown {
  /** Name of this class for `luanest/console`. A bundler may shorten the name of the class itself. */
  static readonly [CONSOLE] = 'RedPacketPayouts';

  private readonly runs = new Set<PayoutRunner>();
  private readonly outboxes: Outboxes;
  /** Definition of a stream that consists of the payouts of all partitions. */
  private readonly stream;
  private closing: Promise<void> | undefined;
  private watcher: PayoutWatcher | undefined;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly activities: Activities,
    private readonly streams?: StreamConsumerService,
  ) {
    this.outboxes = activities.outboxes;
    const keys = activities.layouts.outboxes;
    this.stream = defineStream({ name: 'red-packet.payouts', keys, deleteAfter: [PAYOUT_GROUP] });
  }

  /**
   * Calls a handler for the payouts of all activities, until the run is stopped or the app shuts down. Any number of processes may do this;
   * they take over the payouts of a process that has died. So the handler may be called more than once for a payout: it must pay by
   * `idempotencyKey`, or book into a ledger with UNIQUE (activityKey, packetId) and UNIQUE (activityKey, userId). Call this method after
   * the app has booted.
   *
   * @param options `attempts` is an integer from 1 to 9,999; default 20. The other options default to those of StreamConsumerModule
   * @throws InvalidOptionError for invalid options, if this service has a run already, and if the app does not import
   *   StreamConsumerModule or gives it another ScriptRegistry
   */
  run(handler: PayoutHandler, options: WorkOptions = {}): PayoutRun {
    const streams = this.needed();
    checks.fn('handler', handler, 'that books a payout in the ledger');
    const { attempts = ATTEMPTS, ...given } = checks.options('', options, KNOWN_WORK);
    checks.integer('attempts', attempts, 1, MOST_ATTEMPTS - 1);
    streams.checkOptions({ ...given, attempts, stream: 'red-packet.payouts', group: PAYOUT_GROUP });
    for (const run of this.runs) {
      if (run.stopped) this.runs.delete(run);
      else
        throw checks.error(
          'run() was called before in this process, and that run still pays. Stop it before you start another one.',
        );
    }
    const run = new PayoutRunner(this.registry, this.activities, streams, this.stream, this.watched(handler), {
      ...given,
      attempts,
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
    const status = await this.activities.lifecycle.status(checkActivityId(activityId));
    return status && { open: status.openPayouts, deadLetters: status.deadLetters };
  }

  /**
   * Returns statistics of the payouts of all activities, such as the number of open payouts, and of the consumers that handle them.
   *
   * @throws InvalidOptionError without StreamConsumerModule; the errors of ScriptRegistry.run()
   */
  async outboxStats(): Promise<StreamStats> {
    return this.needed().stats(this.stream, PAYOUT_GROUP);
  }

  /**
   * Returns a page of dead-lettered payouts: one bucket (shard of the activity) after the other, the oldest payout of a bucket first. A
   * payout that is dead-lettered before the first page is read, and still after the last one, is listed exactly once. You may replay or
   * drop payouts between two pages.
   *
   * @param page `limit` from 1 to 500, default 100; `cursor`: the `nextCursor` of the previous page
   * @returns a page without items if there is no such activity
   * @throws InvalidInputError for an invalid id, limit or cursor; the errors of ScriptRegistry.run()
   */
  async deadLetters(
    activityId: string,
    page: { readonly limit?: number; readonly cursor?: string } = {},
  ): Promise<Page<PayoutDeadLetter>> {
    const limit = checkLimit(page.limit, MAX_DEAD_LETTERS);
    const cursor = page.cursor === undefined ? undefined : checkDeadId('cursor', page.cursor);
    const layout = await this.layoutOf(activityId);
    return layout === undefined ? { items: [] } : this.outboxes.deadLetters(layout, limit, cursor);
  }

  /**
   * Replays dead-lettered payouts: the handler is called again, from attempt 1 on.
   *
   * @param ids the `id` of each `PayoutDeadLetter`. An id that is not dead-lettered any more is ignored.
   * @returns how many were replayed
   * @throws InvalidInputError for a text that cannot be such an id
   */
  async replay(activityId: string, ids: readonly string[]): Promise<number> {
    return this.change(activityId, (layout) => this.outboxes.replay(layout, ids));
  }

  /**
   * Replays all dead-lettered payouts of an activity. A payout that is dead-lettered while the call runs may stay dead-lettered. If
   * the call rejects, some payouts may be replayed: call it again.
   *
   * @returns how many were replayed
   */
  async replayAll(activityId: string): Promise<number> {
    return this.change(activityId, (layout) => this.outboxes.replay(layout, undefined));
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
    return this.change(activityId, (layout) => this.outboxes.drop(layout, ids));
  }

  /**
   * Deletes all dead-lettered payouts of an activity. A payout that is dead-lettered while the call runs may stay. If the call
   * rejects, some payouts may be deleted: call it again.
   *
   * @returns how many were deleted
   */
  async dropAll(activityId: string): Promise<number> {
    return this.change(activityId, (layout) => this.outboxes.drop(layout, undefined));
  }

  /** Begins to stop the payout run of this process. `beforeApplicationShutdown` waits until it has stopped. */
  onModuleDestroy(): void {
    this.closing ??= draining(this.stopRuns());
  }

  /** Waits until the payout run of this process has stopped. */
  beforeApplicationShutdown(): Promise<void> | undefined {
    this.onModuleDestroy();
    return this.closing;
  }

  /** Returns functions for `luanest/testing`. */
  [INSPECT](): PayoutsInspection {
    const runs = [...this.runs].filter(({ stopped }) => !stopped);
    return {
      paying: runs.length > 0,
      readNow: () => runs.forEach((run) => run.readNow()),
      watch: (watcher) => (this.watcher = watcher),
    };
  }

  private watched(handler: PayoutHandler): PayoutHandler {
    const { watcher } = this;
    if (watcher === undefined) return handler;
    return (payout) => {
      watcher(payout, messages.get(payout));
      return handler(payout);
    };
  }

  private async stopRuns(): Promise<void> {
    await Promise.all([...this.runs].map((run) => run.stop()));
  }

  private async change(activityId: string, change: (layout: Layout) => Promise<number>): Promise<number> {
    const layout = await this.layoutOf(activityId);
    return layout === undefined ? 0 : change(layout);
  }

  private layoutOf(activityId: string): Promise<Layout | undefined> {
    return this.activities.lifecycle.layoutOf(checkActivityId(activityId));
  }

  private needed(): StreamConsumerService {
    const { streams, registry } = this;
    if (streams !== undefined && !streams.runsOn(registry)) {
      throw checks.error(
        'StreamConsumerModule uses another ScriptRegistry than RedPacketModule, so it cannot read the payouts. ' +
          'Set the option registry of both modules to the same name.',
      );
    }
    if (streams !== undefined) return streams;
    throw checks.error(
      'Payouts need StreamConsumerModule, which is not imported. Import StreamConsumerModule.forRoot() in the root module.',
    );
  }
}
