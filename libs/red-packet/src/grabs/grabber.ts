import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ScriptRegistry } from 'luanest/script-registry';
import { homeOf, keysOf, type BucketKeys, type Layout, type Layouts } from '../buckets/layout';
import type { Refills } from '../buckets/refills';
import type { RedPacketServiceOptions } from '../red-packet.options';
import type { GrabResult, NotOpenReason } from '../red-packet.types';
import { GRAB_MODE, grabPacket, type BucketReply } from './grab.scripts';
import type { SoldOutUsers } from './sold-out-users';

/** Pause before a grab looks again for packets that are moving, or that have just arrived in another bucket. */
const PAUSE_MS = 15;
const UNCONFIRMED_RETRY_MS = 100;

type Settings = Pick<RedPacketServiceOptions, 'replicas' | 'replicasTimeoutMs' | 'transferWaitMs'>;
/** A reply that ends a grab. */
type FinalReply = Exclude<BucketReply, { outcome: 'sharded' }>;
/** A bucket's reply, and whether as many replicas have it as the options demand. */
interface CheckedReply {
  readonly reply: BucketReply;
  readonly confirmed: boolean;
}

const SOLD_OUT: GrabResult = Object.freeze({ code: '-1', outcome: 'sold-out' });
const TOO_MANY_TRIES: GrabResult = Object.freeze({ code: '-4', outcome: 'too-many-tries' });
const TRY_AGAIN: GrabResult = Object.freeze({ code: '-3', outcome: 'try-again', retryAfterMs: PAUSE_MS });
const UNCONFIRMED: GrabResult = Object.freeze({
  code: '2',
  outcome: 'unconfirmed',
  retryAfterMs: UNCONFIRMED_RETRY_MS,
});

/** Sends a grab to the user's bucket, and repeats it until there is a final result. */
export class Grabber {
  constructor(
    private readonly registry: ScriptRegistry,
    private readonly layouts: Layouts,
    private readonly refills: Refills,
    private readonly soldOutUsers: SoldOutUsers,
    private readonly settings: Settings,
  ) {}

  /** Returns the result if this process knows it without a call to Redis. */
  knownResult(activityId: string, userId: string): GrabResult | undefined {
    return this.soldOutUsers.has(activityId, userId) ? SOLD_OUT : undefined;
  }

  /** Grabs a packet in Redis. */
  grab(activityId: string, userId: string): Promise<GrabResult> {
    const layout = this.layouts.of(activityId);
    const { buckets } = layout;
    // The usual case, one bucket and no replicas to wait for, saves a promise for each grab.
    if (buckets.length > 1 || this.settings.replicas > 0) return this.repeat(layout, userId);
    const input = { keys: buckets[0] as BucketKeys, args: { userId, mode: 0 } };
    return this.registry.run(grabPacket, input).then((reply) => {
      if (reply.outcome === 'won' || reply.outcome === 'already-won') return reply;
      if (reply.outcome === 'sharded') return this.repeat(this.layouts.remember(activityId, reply.buckets), userId);
      return this.resultOf(layout, reply, true);
    });
  }

  /**
   * Repeats the grab until there is a final reply. The first reply may be the number of buckets, and the user's bucket may be
   * empty until packets arrive from other buckets.
   */
  private async repeat(first: Layout, userId: string): Promise<GrabResult> {
    const deadline = performance.now() + this.settings.transferWaitMs;
    let layout = first;
    let [mode, rootRead] = [0, false];
    for (;;) {
      const { reply, confirmed } = await this.send(layout, userId, mode);
      const single = layout.buckets.length === 1;
      if (reply.outcome === 'sharded') {
        layout = this.layouts.remember(layout.activityId, reply.buckets);
      } else if (reply.outcome === 'not-open' && reply.reason === 'unknown' && !single && !rootRead) {
        // A new activity with this id may have another number of buckets, so the root is read once.
        rootRead = true;
        this.layouts.forget(layout.activityId);
        layout = this.layouts.of(layout.activityId);
      } else if (reply.outcome === 'empty') {
        mode = GRAB_MODE.repeated;
        const final = await this.awaitPackets(layout, userId, deadline);
        if (final !== undefined) return this.resultOf(layout, final, true);
      } else {
        return this.resultOf(layout, reply, confirmed);
      }
    }
  }

  /** Waits until a repeated grab in an empty bucket makes sense. Returns the final reply if it does not. */
  private async awaitPackets(layout: Layout, userId: string, deadline: number): Promise<FinalReply | undefined> {
    const refilled = await this.refills.refill(layout, homeOf(layout, userId));
    if (refilled === 'sold-out') return { outcome: 'none-left' };
    const left = deadline - performance.now();
    if (left <= 0) return { outcome: 'empty' };
    if (refilled === 'nothing') await sleep(Math.min(PAUSE_MS, left));
    return undefined;
  }

  private async send(layout: Layout, userId: string, mode: number): Promise<CheckedReply> {
    const { replicas, replicasTimeoutMs: timeoutMs } = this.settings;
    const keys = keysOf(layout, homeOf(layout, userId));
    if (replicas === 0) {
      return { reply: await this.registry.run(grabPacket, { keys, args: { userId, mode } }), confirmed: true };
    }
    const input = { keys, args: { userId, mode: mode + GRAB_MODE.confirmed } };
    const waited = await this.registry.runAndWait(grabPacket, input, { replicas, timeoutMs });
    return { reply: waited.result, confirmed: waited.replicas >= replicas };
  }

  private resultOf(layout: Layout, reply: FinalReply, confirmed: boolean): GrabResult {
    switch (reply.outcome) {
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
  const result = { code: '-2', outcome: 'not-open', reason } as const;
  return opensInMs > 0 ? { ...result, retryAfterMs: opensInMs } : result;
}
