import type { KeySpace } from 'luanest/script-registry';
import { evenTags, spread, time } from '../../../internal/src';

/** Consumer group that handles the payouts. */
export const PAYOUT_GROUP = 'payouts';
const MOST_KEPT = 1_000;
/** A layout counts as fresh for this time after it was read from Redis, ms. */
const FRESH_MS = 2_000;

type TaggedKeys = ReturnType<KeySpace['tag']>;

/** Keys of one bucket. All have the same hash tag, so one script may use all of them on a Cluster. */
export interface BucketKeys {
  readonly meta: string;
  readonly pool: string;
  readonly grants: string;
  /** Stream with the open payouts of all buckets that have this hash tag. */
  readonly outbox: string;
  readonly tries: string;
  readonly moves: string;
  readonly voids: string;
  readonly refunds: string;
  /** Stream of dead-lettered payouts of the bucket. */
  readonly dead: string;
}

/** Keys of the buckets of an activity. A bucket is a shard of the activity with its own pool of packets. */
export interface Layout {
  readonly activityId: string;
  /** Keys of each bucket, by its index; at least one. */
  readonly buckets: readonly BucketKeys[];
}

/** Returns the index of the only bucket in which this user can win. */
export function homeOf({ buckets }: Layout, userId: string): number {
  return buckets.length === 1 ? 0 : spread(userId) % buckets.length;
}

/** Returns the keys of a bucket. @throws RangeError if the activity has no bucket with this index */
export function keysOf({ buckets }: Layout, bucket: number): BucketKeys {
  const keys = buckets[bucket];
  if (keys === undefined) {
    throw new RangeError(`RedPacketModule: bucket is ${bucket}. Expected an integer from 0 to ${buckets.length - 1}.`);
  }
  return keys;
}

// See DECISIONS.md: payouts-in-fixed-partitions
/**
 * Builds the keys of activities, and remembers the number of buckets of up to 1,000 sharded activities. The root of an activity is the hash
 * whose key has only the id. It is the hash of the only bucket. If there are several buckets, the root has their number.
 */
export class Layouts {
  /** Keys of the streams with open payouts, one for each partition. */
  readonly outboxes: readonly string[];
  /**
   * One key for each stream of open payouts. Before WAIT, the check whether replicas have a payout writes to this key, because WAIT covers
   * only writes of its own connection.
   */
  readonly waited: readonly string[];
  private readonly tags: readonly TaggedKeys[];
  private readonly roots = new Map<string, Layout>();
  private readonly sharded = new Map<string, Layout>();
  private readonly confirmed = new Map<string, { readonly layout: Layout; readonly at: number }>();

  /**
   * @param space key space of red-packet
   * @param partitions number of hash tags over which the buckets of all activities are sharded
   */
  constructor(space: KeySpace, partitions: number) {
    this.tags = evenTags(partitions).map((tag) => space.tag(tag));
    this.outboxes = this.tags.map((tag) => tag.key('outbox'));
    this.waited = this.tags.map((tag) => tag.key('waited'));
  }

  /** Returns the keys of an activity. Without a remembered number of buckets, these are the keys of one bucket. */
  of(activityId: string): Layout {
    return this.sharded.get(activityId) ?? this.root(activityId);
  }

  root(activityId: string): Layout {
    return kept(this.roots, activityId, () => ({ activityId, buckets: [this.keysIn(0, 1, activityId)] }));
  }

  /** Remembers the number of buckets of an activity, and returns its keys. @param buckets number that the root hash has, at least 2 */
  remember(activityId: string, buckets: number): Layout {
    const known = this.sharded.get(activityId);
    if (known?.buckets.length === buckets) return known;
    this.sharded.delete(activityId);
    return kept(this.sharded, activityId, () => this.build(activityId, buckets));
  }

  /** Returns the keys of an activity with this number of buckets, without remembering the number. */
  build(activityId: string, buckets: number): Layout {
    if (buckets === 1) return this.root(activityId);
    return {
      activityId,
      buckets: Array.from({ length: buckets }, (_, bucket) => this.bucket(activityId, buckets, bucket)),
    };
  }

  /** Returns the keys of one bucket of an activity with this number of buckets. */
  bucket(activityId: string, buckets: number, bucket: number): BucketKeys {
    if (buckets === 1) return keysOf(this.root(activityId), bucket);
    // The keys contain the number of buckets, so that an activity with the same id and another number has other keys.
    return this.keysIn(bucket, buckets, activityId, `${bucket}-${buckets}`);
  }

  forget(activityId: string): void {
    this.sharded.delete(activityId);
    this.confirmed.delete(activityId);
  }

  /** Notes that Redis has just confirmed the number of buckets of this layout. */
  confirm(layout: Layout): void {
    const { activityId } = layout;
    this.confirmed.delete(activityId);
    if (this.confirmed.size >= MOST_KEPT) this.confirmed.delete(this.confirmed.keys().next().value as string);
    this.confirmed.set(activityId, { layout, at: time.monotonicMs() });
  }

  /** Returns the keys of an activity that were read from Redis within the last two seconds; otherwise undefined. */
  fresh(activityId: string): Layout | undefined {
    const known = this.confirmed.get(activityId);
    return known !== undefined && time.monotonicMs() - known.at < FRESH_MS ? known.layout : undefined;
  }

  /**
   * Returns the keys of a bucket. The hash tags are in the order of their hash slots, so the buckets of an activity are evenly distributed
   * over the masters of a Cluster.
   *
   * @param segments last parts of each key: the id of the activity; if there are several buckets, also `<index>-<number of buckets>`
   */
  private keysIn(bucket: number, buckets: number, activityId: string, ...segments: readonly string[]): BucketKeys {
    const { length } = this.tags;
    const partition = (spread(activityId) + Math.floor((bucket * length) / buckets)) % length;
    const tag = this.tags[partition] as TaggedKeys;
    const keyOf = (name: string): string => tag.key(name, activityId, ...segments);
    return {
      meta: keyOf('meta'),
      pool: keyOf('pool'),
      grants: keyOf('grants'),
      outbox: this.outboxes[partition] as string,
      tries: keyOf('tries'),
      moves: keyOf('moves'),
      voids: keyOf('voids'),
      refunds: keyOf('refunds'),
      dead: keyOf('dead'),
    };
  }
}

/** Returns an entry of the map, or builds and stores it. A full map loses its oldest entry. */
function kept(map: Map<string, Layout>, activityId: string, build: () => Layout): Layout {
  let layout = map.get(activityId);
  if (layout !== undefined) return layout;
  layout = build();
  if (map.size >= MOST_KEPT) map.delete(map.keys().next().value as string);
  map.set(activityId, layout);
  return layout;
}
