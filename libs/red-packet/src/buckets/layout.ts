import { performance } from 'node:perf_hooks';
import type { KeySpace, TaggedKeys } from 'luanest/script-registry';
import { slotOf, spread } from '../../../internal/src';

/** Consumer group of the payouts in each outbox. */
export const PAYOUT_GROUP = 'payouts';
const SLOTS = 16_384;
/** Activities whose keys a process remembers. */
const MOST_KEPT = 1_000;
/** How long calls use a layout without reading the root again, ms. */
const FRESH_MS = 2_000;

/** Keys of one bucket; all under one hash tag. */
export interface BucketKeys {
  readonly meta: string;
  readonly pool: string;
  readonly grants: string;
  readonly outbox: string;
  readonly tries: string;
  readonly moves: string;
  readonly voids: string;
  readonly refunds: string;
  /** Keys of stream-consumer for the payouts: dead letters, sessions, takes, due retries and attempts. */
  readonly dead: string;
  readonly sessions: string;
  readonly takes: string;
  readonly due: string;
  readonly attempts: string;
}

/** The buckets of an activity. */
export interface Layout {
  readonly activityId: string;
  /** Keys by bucket; never empty. */
  readonly buckets: readonly BucketKeys[];
}

/** Index of the bucket that holds a user's grant. */
export function homeOf({ buckets }: Layout, userId: string): number {
  return buckets.length === 1 ? 0 : spread(userId) % buckets.length;
}

/** Keys of a bucket. @throws RangeError for an index that the activity does not have */
export function keysOf({ buckets }: Layout, bucket: number): BucketKeys {
  const keys = buckets[bucket];
  if (keys === undefined) throw new RangeError(`There is no bucket ${bucket}: the activity has ${buckets.length}.`);
  return keys;
}

/** Builds and remembers the keys of activities. */
export class Layouts {
  private readonly roots = new Map<string, Layout>();
  private readonly sharded = new Map<string, Layout>();
  private readonly confirmed = new Map<string, { readonly layout: Layout; readonly at: number }>();

  /** @param streams key space of stream-consumer, whose keys share the hash tag of each outbox */
  constructor(
    private readonly space: KeySpace,
    private readonly streams: KeySpace,
  ) {}

  /** The remembered layout of a sharded activity; otherwise that of a single bucket, whose key is also the root. */
  of(activityId: string): Layout {
    return this.sharded.get(activityId) ?? this.root(activityId);
  }

  /** The only bucket of an activity, or the root of a sharded one. */
  root(activityId: string): Layout {
    return kept(this.roots, activityId, () => ({ activityId, buckets: [this.keysUnder(this.space.tag(activityId))] }));
  }

  /** Remembers the number of buckets that the root of an activity returned. */
  remember(activityId: string, buckets: number): Layout {
    const known = this.sharded.get(activityId);
    if (known?.buckets.length === buckets) return known;
    this.sharded.delete(activityId);
    return kept(this.sharded, activityId, () => this.build(activityId, buckets));
  }

  /** Builds the layout for a number of buckets, and does not remember it. */
  build(activityId: string, buckets: number): Layout {
    if (buckets === 1) return this.root(activityId);
    return {
      activityId,
      buckets: Array.from({ length: buckets }, (_, i) => this.keysUnder(this.tagOf(activityId, buckets, i), `b${i}`)),
    };
  }

  /** Forgets the remembered number of buckets. */
  forget(activityId: string): void {
    this.sharded.delete(activityId);
    this.confirmed.delete(activityId);
  }

  /** Notes that the layout was just read from Redis. */
  confirm(layout: Layout): void {
    const { activityId } = layout;
    this.confirmed.delete(activityId);
    if (this.confirmed.size >= MOST_KEPT) this.confirmed.delete(this.confirmed.keys().next().value as string);
    this.confirmed.set(activityId, { layout, at: performance.now() });
  }

  /** The layout, if it was read from Redis within the last two seconds. */
  fresh(activityId: string): Layout | undefined {
    const known = this.confirmed.get(activityId);
    return known !== undefined && performance.now() - known.at < FRESH_MS ? known.layout : undefined;
  }

  /**
   * Finds a hash tag whose slot is in the middle half of the bucket's share of the slots, so that buckets are evenly
   * distributed over slots, and thus over masters. The tag contains the number of buckets: an id that is reused with another
   * number has other keys.
   */
  private tagOf(activityId: string, buckets: number, bucket: number): TaggedKeys {
    const share = SLOTS / buckets;
    const [from, to] = [(bucket + 0.25) * share, (bucket + 0.75) * share];
    for (let turn = 0; ; turn++) {
      const tag = this.space.tag(`${activityId}~${buckets}~${bucket}~${turn}`);
      const slot = slotOf(tag.key('meta'));
      if (slot >= from && slot < to) return tag;
    }
  }

  /** @param segment follows the names of the keys, so that an activity whose id equals this tag has other keys */
  private keysUnder(tag: TaggedKeys, ...segment: readonly string[]): BucketKeys {
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

function kept(map: Map<string, Layout>, activityId: string, build: () => Layout): Layout {
  let layout = map.get(activityId);
  if (layout !== undefined) return layout;
  layout = build();
  if (map.size >= MOST_KEPT) map.delete(map.keys().next().value as string);
  map.set(activityId, layout);
  return layout;
}
