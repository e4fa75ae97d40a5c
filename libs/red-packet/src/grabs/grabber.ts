import type { ScriptRegistry } from 'luanest/script-registry';
import { pause, time } from '../../../internal/src';
import { homeOf, keysOf, type BucketKeys, type Layout, type Layouts } from '../buckets/layout';
import { Refills } from '../buckets/refills';
import type { Transfers } from '../buckets/transfers';
import type { RedPacketServiceOptions } from '../red-packet.options';
import type { GrabResult, NotOpenReason } from '../red-packet.types';
import { GRAB_MODE, grabPacket, type BucketReply } from './grab.scripts';
import type { SoldOutUsers } from './sold-out-users';

/** Pause before a grab looks for packets in other buckets again, ms. The result `try-again` has it as `retryAfterMs`. */
const PAUSE_MS = 15;
/** `retryAfterMs` of the result `unconfirmed`, ms. */
const UNCONFIRMED_RETRY_MS = 100;

type Settings = Pick<RedPacketServiceOptions, 'replicas' | 'replicasTimeoutMs' | 'transferWaitMs'>;
/** A reply that may be the result of a grab. After `sharded`, the grab is sent again, to the bucket of the user. */
type FinalReply = Exclude<BucketReply, { status: 'sharded' }>;
/** Reply of a bucket. `confirmed` is true if at least `replicas` replicas have the writes of the call. */
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

/** Sends a grab to the only bucket in which the user can win, and repeats it until there is a result. Calls `won` for each win. */
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
   * Returns `sold-out` if this process knows that the activity is sold out, and that the user has no packet; otherwise undefined. Does not
   * call Redis.
   */
  knownResult(activityId: string, userId: string): GrabResult | undefined {
    return this.soldOutUsers.has(activityId, userId) ? SOLD_OUT : undefined;
  }

  grab(activityId: string, userId: string): Promise<GrabResult> {
    const layout = this.layouts.of(activityId);
    const { buckets } = layout;
    // The usual case is one bucket without replicas. For speed, the lines below create only one promise for it.
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
   * Sends the grab until there is a result. The first call may only return the number of buckets, and the user's bucket may be empty until
   * packets arrive from others.
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
        // The remembered number of buckets may be that of an earlier activity with this id. The root hash of the activity has the right
        // number. A grab reads it at most once.
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
   * Moves packets to the empty bucket of the user. Returns undefined if the grab must be sent again; otherwise the reply that ends it,
   * because the activity is sold out or `transferWaitMs` is over.
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
