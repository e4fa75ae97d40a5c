import { performance } from 'node:perf_hooks';
import { slotOf, type KeySpace, type TaggedKeys } from 'luanest/script-registry';
import { spread } from '../../../internal/src';

/** Consumer group of the payouts. */
export const PAYOUT_GROUP = 'payouts';
const SLOTS = 16_384;
/** Activities that a process keeps the keys of. */
const MOST_KEPT = 1_000;
/** How long what a root said is taken for granted where nothing else would tell that it has changed, ms. */
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
  /** Keys of stream-consumer: dead letters, sessions, takes, what is due, and attempts of the payouts. */
  readonly dead: string;
  readonly sessions: string;
  readonly takes: string;
  readonly due: string;
  readonly attempts: string;
}

/** An activity's buckets, and whose is which. */
export interface Layout {
  readonly activityId: string;
  /** Keys by bucket; never empty. */
  readonly buckets: readonly BucketKeys[];
}

/** The bucket that holds a user's entry and packet. */
export function homeOf({ buckets }: Layout, userId: string): number {
  return buckets.length === 1 ? 0 : spread(userId) % buckets.length;
}

/** Keys of a bucket. @throws RangeError for one that the activity does not have */
export function keysOf({ buckets }: Layout, bucket: number): BucketKeys {
  const keys = buckets[bucket];
  if (keys === undefined) throw new RangeError(`There is no bucket ${bucket} among ${buckets.length}.`);
  return keys;
}

/** Builds and remembers the keys of activities. */
export class Layouts {
  private readonly roots = new Map<string, Layout>();
  private readonly spread = new Map<string, Layout>();
  private readonly read = new Map<string, { readonly layout: Layout; readonly at: number }>();

  /** @param streams key space of stream-consumer, which keeps its keys beside each outbox */
  constructor(
    private readonly space: KeySpace,
    private readonly streams: KeySpace,
  ) {}

  /** The layout that was learned, or that of a single bucket, which is also where an activity's root is. */
  of(activityId: string): Layout {
    return this.spread.get(activityId) ?? this.root(activityId);
  }

  /** The one bucket of an activity that has no more, and the root of one that has. */
  root(activityId: string): Layout {
    return kept(this.roots, activityId, () => ({ activityId, buckets: [this.keysUnder(this.space.tag(activityId))] }));
  }

  /** Remembers over how many buckets an activity is spread, as its root says. */
  learn(activityId: string, buckets: number): Layout {
    const known = this.spread.get(activityId);
    if (known?.buckets.length === buckets) return known;
    this.spread.delete(activityId);
    return kept(this.spread, activityId, () => this.build(activityId, buckets));
  }

  /** Keys for so many buckets, which nobody else is to know yet. */
  build(activityId: string, buckets: number): Layout {
    if (buckets === 1) return this.root(activityId);
    return {
      activityId,
      buckets: Array.from({ length: buckets }, (_, i) => this.keysUnder(this.tagOf(activityId, buckets, i), `b${i}`)),
    };
  }

  /** Forgets what was learned of an activity. */
  forget(activityId: string): void {
    this.spread.delete(activityId);
    this.read.delete(activityId);
  }

  /** Notes that Redis has just shown this layout to be the activity's. */
  confirm(layout: Layout): void {
    const { activityId } = layout;
    this.read.delete(activityId);
    if (this.read.size >= MOST_KEPT) this.read.delete(this.read.keys().next().value as string);
    this.read.set(activityId, { layout, at: performance.now() });
  }

  /** The layout, where Redis has shown it lately. */
  fresh(activityId: string): Layout | undefined {
    const known = this.read.get(activityId);
    return known !== undefined && performance.now() - known.at < FRESH_MS ? known.layout : undefined;
  }

  /**
   * A tag whose slot lies in the middle half of its share, so that buckets lie evenly over the slots and with them over
   * the masters. It names the number of buckets: an id that is used again with another number has other keys.
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

  /** @param segment behind the names, so that no activity whose id is this tag has these keys */
  private keysUnder(tag: TaggedKeys, ...segment: readonly string[]): BucketKeys {
    const outbox = tag.key('outbox', ...segment);
    const beside = this.streams.beside(outbox);
    const ofPayouts = (name: string): string => beside.key(name, PAYOUT_GROUP, outbox);
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
