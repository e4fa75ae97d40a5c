import type { BeforeApplicationShutdown } from '@nestjs/common';
import { type ScriptRegistry } from 'luanest/script-registry';
import { Checks, type KnownOptions } from '../../../internal/src';
import type { StreamConsumerService } from 'luanest/stream-consumer';
import { checkDeadCursor, checkLimit } from '../red-packet.input';
import type { RedPacketService } from '../red-packet.service';
import { DEAD_PAGE, Outbox } from './outbox';
import { PayoutRunner } from './payout-runner';
import type { DeadPayoutPage, PayoutHandler, PayoutOptions, PayoutRun, PayoutStats } from './payouts.types';

const KNOWN: KnownOptions<PayoutOptions> = {
  concurrency: true,
  leaseMs: true,
  attempts: true,
  backoffMs: true,
  maxBackoffMs: true,
  handlerTimeoutMs: true,
  pollMs: true,
  discoverMs: true,
};
const checks = new Checks('RedPacketPayouts');
/** What differs from the defaults of StreamConsumerModule. */
const DEFAULTS = { attempts: 20, pollMs: 250 };

/** Hands payouts to the app's handler, and tells what became of them. Needs `StreamConsumerModule`. */
export class RedPacketPayouts implements BeforeApplicationShutdown {
  private readonly runs = new Set<PayoutRunner>();

  constructor(
    private readonly packets: RedPacketService,
    private readonly streams: StreamConsumerService | undefined,
    private readonly registry?: ScriptRegistry,
  ) {}

  /**
   * Hands the payouts of all activities to a handler, those of processes that died too, until the app shuts down. Each is
   * handed out at least once: pay by `idempotencyKey`, or into a ledger with both UNIQUE keys. Call it when the app is up, in
   * as many processes as you like.
   *
   * @throws InvalidOptionError for options that cannot work, while another run goes on here, and where the app does not import
   *   StreamConsumerModule, or on another registry
   */
  run(handler: PayoutHandler, options: PayoutOptions = {}): PayoutRun {
    const streams = this.needed();
    checks.fn('handler', handler, 'of a payout');
    const { discoverMs = 1_000, ...given } = checks.options('', options, KNOWN);
    const consumer = { ...DEFAULTS, ...given };
    checks.integer('discoverMs', discoverMs, 10, 60_000);
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

  /** How an activity's payouts stand; undefined when there is no such activity. */
  async stats(activityId: string): Promise<PayoutStats | undefined> {
    const outbox = await this.outboxOf(activityId);
    if (outbox === undefined) return undefined;
    const stats = await outbox.with((streams, stream, group) => streams.stats(stream, group));
    const { length: open, pending, oldestMs, dead, sessions: consumers } = stats;
    return { open, pending, oldestMs, dead, consumers };
  }

  /**
   * Returns a page of the payouts that were given up, bucket by bucket, the oldest first. Each that is there from the first
   * page to the last is listed once, also when others are replayed, dropped or given up between two pages.
   *
   * @param page limit 1 to 500, default 100; the `nextCursor` of the page before
   * @throws InvalidRedPacketInputError
   */
  async deadLetters(
    activityId: string,
    page: { readonly limit?: number; readonly cursor?: string } = {},
  ): Promise<DeadPayoutPage> {
    const limit = checkLimit(page.limit, DEAD_PAGE);
    const cursor = page.cursor === undefined ? undefined : checkDeadCursor(page.cursor);
    const outbox = await this.outboxOf(activityId);
    return outbox === undefined ? { items: [] } : outbox.page(limit, cursor);
  }

  /** Hands dead payouts out again, with all attempts before them. @returns how many were there */
  async replay(activityId: string, ids: readonly string[] | 'all'): Promise<number> {
    const outbox = await this.outboxOf(activityId);
    if (outbox === undefined) return 0;
    const replayed = await outbox.with((streams, stream, group) => streams.replay(stream, group, ids));
    for (const run of this.runs) run.wake(activityId);
    return replayed;
  }

  /** Forgets dead payouts: for those that were settled by hand. @returns how many were there */
  async drop(activityId: string, ids: readonly string[] | 'all'): Promise<number> {
    const outbox = await this.outboxOf(activityId);
    return outbox === undefined ? 0 : outbox.with((streams, stream, group) => streams.drop(stream, group, ids));
  }

  /** Takes nothing new and finishes what runs. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([...this.runs].map((run) => run.stop()));
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
        'StreamConsumerModule runs on another ScriptRegistry than RedPacketModule, so it would find no payouts. ' +
          'Give both the same registry.',
      );
    }
    if (streams !== undefined) return streams;
    throw checks.error('Payouts need streams. Import StreamConsumerModule.forRoot() in the root module.');
  }
}
