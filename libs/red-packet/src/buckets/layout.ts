import type { KeySpace } from 'luanest/script-registry';
import { slotOf, spread, time } from '../../../internal/src';

/** Consumer group of the payouts in each outbox. */
export const PAYOUT_GROUP = 'payouts';
const SLOTS = 16_384;
const MOST_KEPT = 1_000;
/** For how long after a reading `fresh` returns the layout, ms. */
const FRESH_MS = 2_000;

/** Keys of one bucket. All have one hash tag, so one script may use all of them. */
export interface BucketKeys {
  readonly meta: string;
  readonly pool: string;
  readonly grants: string;
  readonly outbox: string;
  readonly tries: string;
  readonly moves: string;
  readonly voids: string;
  readonly refunds: string;
  /** Stream of dead-lettered payouts. This key and the next four belong to stream-consumer. */
  readonly dead: string;
  readonly sessions: string;
  readonly takes: string;
  readonly due: string;
  readonly attempts: string;
}

/** Keys of the buckets of an activity. A bucket is a shard of the activity with its own pool of packets. */
export interface Layout {
  readonly activityId: string;
  /** Keys of each bucket, by its index; at least one. */
  readonly buckets: readonly BucketKeys[];
}

/** Returns the index of the user's bucket: the only bucket in which this user can win. */
export function homeOf({ buckets }: Layout, userId: string): number {
  return buckets.length === 1 ? 0 : spread(userId) % buckets.length;
}

/** Returns the keys of a bucket. @throws RangeError if the activity has no bucket with this index */
export function keysOf({ buckets }: Layout, bucket: number): BucketKeys {
  const keys = buckets[bucket];
  if (keys === undefined) {
    throw new RangeError(`bucket is ${bucket}. Expected an integer from 0 to ${buckets.length - 1}.`);
  }
  return keys;
}

/**
 * Builds the keys of activities, and remembers the numbers of buckets of up to 1,000 sharded ones. The root of an activity is the
 * meta hash under the tag of its id: that of the only bucket, or a hash that stores the number of buckets.
 */
export class Layouts {
  private readonly roots = new Map<string, Layout>();
  private readonly sharded = new Map<string, Layout>();
  private readonly confirmed = new Map<string, { readonly layout: Layout; readonly at: number }>();

  /**
   * @param space key space of red-packet
   * @param streams key space of stream-consumer. The payouts of a bucket have keys in it, with the hash tag of the bucket.
   */
  constructor(
    private readonly space: KeySpace,
    private readonly streams: KeySpace,
  ) {}

  /**
   * Returns the remembered layout of an activity with several buckets. For all other activities, returns one bucket: the root.
   */
  of(activityId: string): Layout {
    return this.sharded.get(activityId) ?? this.root(activityId);
  }

  root(activityId: string): Layout {
    return kept(this.roots, activityId, () => ({ activityId, buckets: [this.keysUnder(this.space.tag(activityId))] }));
  }

  /** Remembers the number of buckets of an activity, and returns its layout. @param buckets at least 2, as read from the root */
  remember(activityId: string, buckets: number): Layout {
    const known = this.sharded.get(activityId);
    if (known?.buckets.length === buckets) return known;
    this.sharded.delete(activityId);
    return kept(this.sharded, activityId, () => this.build(activityId, buckets));
  }

  /** Returns the layout of an activity with this number of buckets. Does not remember the number. */
  build(activityId: string, buckets: number): Layout {
    if (buckets === 1) return this.root(activityId);
    return {
      activityId,
      buckets: Array.from({ length: buckets }, (_, i) => this.keysUnder(this.tagOf(activityId, buckets, i), `b${i}`)),
    };
  }

  forget(activityId: string): void {
    this.sharded.delete(activityId);
    this.confirmed.delete(activityId);
  }

  /** Notes that this layout was read from Redis just now. */
  confirm(layout: Layout): void {
    const { activityId } = layout;
    this.confirmed.delete(activityId);
    if (this.confirmed.size >= MOST_KEPT) this.confirmed.delete(this.confirmed.keys().next().value as string);
    this.confirmed.set(activityId, { layout, at: time.monotonicMs() });
  }

  /** Returns the layout of an activity if it was read from Redis within the last two seconds; else undefined. */
  fresh(activityId: string): Layout | undefined {
    const known = this.confirmed.get(activityId);
    return known !== undefined && time.monotonicMs() - known.at < FRESH_MS ? known.layout : undefined;
  }

  /**
   * Returns a hash tag for a bucket, so that the buckets are evenly distributed over the slots, and over masters that
   * serve ranges of equal size. Each bucket has a range of slots, and its tag is in the middle half of this range. The tag
   * contains the number of buckets. If an id is used again with another number of buckets, the keys of the buckets differ.
   */
  private tagOf(activityId: string, buckets: number, bucket: number): ReturnType<KeySpace['tag']> {
    const share = SLOTS / buckets;
    const [from, to] = [(bucket + 0.25) * share, (bucket + 0.75) * share];
    for (let turn = 0; ; turn++) {
      const tag = this.space.tag(`${activityId}~${buckets}~${bucket}~${turn}`);
      const slot = slotOf(tag.key('meta'));
      if (slot >= from && slot < to) return tag;
    }
  }

  /**
   * Returns the keys of a bucket under a hash tag.
   *
   * @param segment `b<bucket>`, the last part of each key; nothing for a root. Without the segment, an activity whose id is
   *   equal to the tag would have the same keys.
   */
  private keysUnder(tag: ReturnType<KeySpace['tag']>, ...segment: readonly string[]): BucketKeys {
    const outbox = tag.key('outbox', ...segment);
    const sameSlot = this.streams.sameSlotAs(outbox);
    const ofPayouts = (name: string): string => sameSlot.key(name, PAYOUT_GROUP, outbox);
    return {
      meta: tag.key('meta', ...segment),
      pool: tag.key('pool', ...segment),
      grants: tag.key('grants', ...segment),
      outbox,
      tries: tag.key('tries', ...segment),
      moves: tag.key('moves', ...segment),
      voids: tag.key('voids', ...segment),
      refunds: tag.key('refunds', ...segment),
      dead: ofPayouts('dead'),
      sessions: ofPayouts('sessions'),
      takes: ofPayouts('takes'),
      due: ofPayouts('due'),
      attempts: ofPayouts('tries'),
    };
  }
}

/** Returns the layout in the map. Without one, builds and stores it, and drops the oldest one if the map is full. */
function kept(map: Map<string, Layout>, activityId: string, build: () => Layout): Layout {
  let layout = map.get(activityId);
  if (layout !== undefined) return layout;
  layout = build();
  if (map.size >= MOST_KEPT) map.delete(map.keys().next().value as string);
  map.set(activityId, layout);
  return layout;
}
