import type { ScriptRegistry } from 'luanest/script-registry';
import { pause, time } from '../../../internal/src';
import { homeOf, keysOf, type BucketKeys, type Layout, type Layouts } from '../buckets/layout';
import { Refills } from '../buckets/refills';
import type { Transfers } from '../buckets/transfers';
import type { RedPacketServiceOptions } from '../red-packet.options';
import type { GrabResult, NotOpenReason } from '../red-packet.types';
import { GRAB_MODE, grabPacket, type BucketReply } from './grab.scripts';
import type { SoldOutUsers } from './sold-out-users';

/** Pause before a grab tries again to get packets from other buckets, ms. Also the `retryAfterMs` of a result `try-again`. */
const PAUSE_MS = 15;
/** `retryAfterMs` of a win that too few replicas have confirmed, ms. */
const UNCONFIRMED_RETRY_MS = 100;

type Settings = Pick<RedPacketServiceOptions, 'replicas' | 'replicasTimeoutMs' | 'transferWaitMs'>;
/** A reply that may end a grab. The reply `sharded` does not: after it, the grab is sent again, to the user's bucket. */
type FinalReply = Exclude<BucketReply, { status: 'sharded' }>;
/** A bucket's reply. `confirmed` is true if at least `replicas` replicas have confirmed what the call wrote. */
interface CheckedReply {
  readonly reply: BucketReply;
  readonly confirmed: boolean;
}

const SOLD_OUT: GrabResult = Object.freeze({ status: 'sold-out' });
const TOO_MANY_TRIES: GrabResult = Object.freeze({ status: 'too-many-tries' });
const TRY_AGAIN: GrabResult = Object.freeze({ status: 'try-again', retryAfterMs: PAUSE_MS });
const UNCONFIRMED: GrabResult = Object.freeze({
  status: 'unconfirmed',
  retryAfterMs: UNCONFIRMED_RETRY_MS,
});

/**
 * Sends a grab to the user's bucket (the shard in which this user can win), and sends it again until there is a result. Calls `won` at
 * each win.
 */
export class Grabber {
  private readonly refills: Refills;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly layouts: Layouts,
    transfers: Transfers,
    private readonly soldOutUsers: SoldOutUsers,
    private readonly settings: Settings,
    private readonly won: (outbox: string) => void,
  ) {
    this.refills = new Refills(transfers);
  }

  /**
   * Returns `sold-out` if this process knows that the activity is sold out and the user has no packet of it; otherwise undefined. Does
   * not call Redis.
   */
  knownResult(activityId: string, userId: string): GrabResult | undefined {
    return this.soldOutUsers.has(activityId, userId) ? SOLD_OUT : undefined;
  }

  grab(activityId: string, userId: string): Promise<GrabResult> {
    const layout = this.layouts.of(activityId);
    const { buckets } = layout;
    // For speed, the lines below make only one promise for each grab. They handle the usual case: one bucket, and no replicas to wait
    // for.
    if (buckets.length > 1 || this.settings.replicas > 0) return this.repeat(layout, userId);
    const keys = buckets[0] as BucketKeys;
    return this.run(keys, userId, 0).then((reply) => {
      if (reply.status === 'won') this.won(keys.outbox);
      if (reply.status === 'sharded') return this.repeat(this.layouts.remember(activityId, reply.buckets), userId);
      return this.resultOf(layout, reply, true);
    });
  }

  private run(keys: BucketKeys, userId: string, mode: number): Promise<BucketReply> {
    return this.registry.run(grabPacket, { keys, args: { userId, mode } });
  }

  /**
   * Sends the grab until there is a result. A grab may need several calls: the first call may only return the number of buckets, and
   * the user's bucket may be empty until packets arrive from other buckets.
   */
  private async repeat(first: Layout, userId: string): Promise<GrabResult> {
    const deadline = time.monotonicMs() + this.settings.transferWaitMs;
    let layout = first;
    let [mode, rootRead] = [0, false];
    for (;;) {
      const { reply, confirmed } = await this.send(layout, userId, mode);
      if (reply.status === 'won') this.won(keysOf(layout, homeOf(layout, userId)).outbox);
      const single = layout.buckets.length === 1;
      if (reply.status === 'sharded') {
        layout = this.layouts.remember(layout.activityId, reply.buckets);
      } else if (reply.status === 'not-open' && reply.reason === 'unknown' && !single && !rootRead) {
        // The remembered number of buckets may belong to an earlier activity with this id. So the grab is sent to the root, the hash
        // that has the right number. This is done at most once for each grab.
        rootRead = true;
        this.layouts.forget(layout.activityId);
        layout = this.layouts.of(layout.activityId);
      } else if (reply.status === 'empty') {
        mode = GRAB_MODE.repeated;
        const final = await this.awaitPackets(layout, userId, deadline);
        if (final !== undefined) return this.resultOf(layout, final, true);
      } else {
        return this.resultOf(layout, reply, confirmed);
      }
    }
  }

  /**
   * Moves packets to the user's empty bucket. Returns undefined if the grab must be sent again; otherwise the reply that ends
   * the grab, because the activity is sold out or `transferWaitMs` is over.
   */
  private async awaitPackets(layout: Layout, userId: string, deadline: number): Promise<FinalReply | undefined> {
    const refilled = await this.refills.refill(layout, homeOf(layout, userId));
    if (refilled === 'sold-out') return { status: 'none-left' };
    const left = deadline - time.monotonicMs();
    if (left <= 0) return { status: 'empty' };
    if (refilled === 'nothing') await pause(Math.min(PAUSE_MS, left));
    return undefined;
  }

  private async send(layout: Layout, userId: string, mode: number): Promise<CheckedReply> {
    const { replicas, replicasTimeoutMs: timeoutMs } = this.settings;
    const keys = keysOf(layout, homeOf(layout, userId));
    if (replicas === 0) return { reply: await this.run(keys, userId, mode), confirmed: true };
    const input = { keys, args: { userId, mode: mode + GRAB_MODE.confirmed } };
    const waited = await this.registry.runAndWait(grabPacket, input, { replicas, timeoutMs });
    return { reply: waited.result, confirmed: waited.replicas >= replicas };
  }

  private resultOf(layout: Layout, reply: FinalReply, confirmed: boolean): GrabResult {
    switch (reply.status) {
      case 'won':
      case 'already-won':
        return confirmed ? reply : UNCONFIRMED;
      case 'none-left':
        this.soldOutUsers.remember(layout);
        return SOLD_OUT;
      case 'empty':
        return TRY_AGAIN;
      case 'too-many-tries':
        return TOO_MANY_TRIES;
      case 'not-open':
        return notOpen(reply.reason, reply.opensInMs);
    }
  }
}

function notOpen(reason: NotOpenReason, opensInMs: number): GrabResult {
  const result = { status: 'not-open', reason } as const;
  return opensInMs > 0 ? { ...result, retryAfterMs: opensInMs } : result;
}
