import { createHash, randomBytes } from 'node:crypto';
import type { ScriptRegistry } from 'luanest/script-registry';
import { keysOf, PAYOUT_GROUP, type BucketKeys, type Layout, type Layouts } from '../buckets/layout';
import { ActivityConflictError, ActivityIncompleteError } from '../red-packet.errors';
import { refuse, type CheckedActivity } from '../red-packet.input';
import type { RedPacketServiceOptions } from '../red-packet.options';
import type { CreatedActivity } from '../red-packet.types';
import { splitBy } from '../split';
import { beginActivity, CHUNK_PACKETS, fillPool, indexActivity, openActivity } from './activity.scripts';
import type { Closing } from './closing';

/** The place of an activity's root, beside buckets 0 and up. */
const ROOT = -1;

/** One bucket's part of an activity. */
interface Share {
  readonly bucket: number;
  readonly totalCents: number;
  /** `<packetId>:<cents>:<sum>` */
  readonly entries: readonly string[];
}

// See DECISIONS.md: creation-is-three-scripts
/** Makes activities: figures first, then the pools in chunks, then open. Each step may be repeated. */
export class Creation {
  constructor(
    private readonly registry: ScriptRegistry,
    private readonly layouts: Layouts,
    private readonly indexKey: string,
    private readonly settings: Pick<RedPacketServiceOptions, 'retentionMs' | 'soldOutMemoryMs'>,
    private readonly closing: Closing,
  ) {}

  /** Makes an activity, or goes on with one of the same figures. @throws ActivityConflictError, ActivityIncompleteError */
  async create(activity: CheckedActivity): Promise<CreatedActivity> {
    const { activityId, startsAtMs, endsAtMs, totalCents, packets, buckets } = activity;
    const { retentionMs } = this.settings;
    this.closing.check(activity, retentionMs);
    // Before the activity itself: a crash in between leaves a name that leads nowhere, not money that nobody finds.
    const args = { activityId, retentionMs, fromMs: Math.max(startsAtMs, endsAtMs) };
    await this.registry.run(indexActivity, { keys: { index: this.indexKey }, args });
    const fingerprint = fingerprintOf(activity);
    const root = keysOf(this.layouts.root(activityId), 0);
    const seed = activity.seed ?? randomBytes(16).toString('hex');
    const single = buckets === 1;
    const begun = await this.begin(activity, root, {
      fingerprint,
      seed,
      bucket: single ? 0 : ROOT,
      totalCents,
      packets,
      expiresAtMs: 0,
    });
    if (begun.state === 'draft') {
      // Before it opens, and after it is known that these are its figures: whatever is open will be closed.
      // See DECISIONS.md: closing-task-before-opening
      await this.closing.schedule(activityId, begun.endsAtMs);
      const layout = this.layouts.build(activityId, buckets);
      const amounts = splitBy(activity.split, activity, begun.seed, activity.amounts);
      const shares = sharesOf(amounts, buckets);
      if (!single) {
        for (const { bucket, totalCents: cents, entries } of shares) {
          const share = { bucket, totalCents: cents, packets: entries.length, expiresAtMs: begun.expiresAtMs };
          await this.begin(activity, keysOf(layout, bucket), { fingerprint, seed: begun.seed, ...share });
        }
      }
      await Promise.all(shares.map(({ bucket, entries }) => this.fill(keysOf(layout, bucket), entries)));
      // All pools are full before the first bucket opens.
      if (!single) await Promise.all(layout.buckets.map((keys) => this.open(layout, keys)));
    } else if (begun.state !== 'closed') {
      // The queue may have lost its tasks since.
      await this.closing.schedule(activityId, begun.endsAtMs, 'keep');
    }
    const created = await this.open(this.layouts.root(activityId), root);
    return { activityId, totalCents, packets, created };
  }

  private async begin(
    activity: CheckedActivity,
    { meta, pool, grants, outbox }: BucketKeys,
    part: {
      readonly fingerprint: string;
      readonly seed: string;
      readonly bucket: number;
      readonly totalCents: number;
      readonly packets: number;
      readonly expiresAtMs: number;
    },
  ) {
    const { activityId, packets: allPackets, buckets, startsAtMs, endsAtMs, maxTries } = activity;
    const { retentionMs, soldOutMemoryMs: soldOutMs } = this.settings;
    const life = { startsAtMs, endsAtMs, maxTries, soldOutMs, retentionMs };
    const begun = await this.registry.run(beginActivity, {
      keys: { meta, pool, grants, outbox },
      args: { ...part, ...life, allPackets, buckets },
    });
    const name = `Activity ${JSON.stringify(activityId)}`;
    if (begun.status === 'conflict') {
      throw new ActivityConflictError(
        `${name} exists with other figures. Choose another id, or repeat the first figures.`,
      );
    }
    if (begun.status === 'orphaned') {
      throw new ActivityConflictError(
        `${name} has lost its figures while other keys of it remain. Choose another id, and set maxmemory-policy to noeviction.`,
      );
    }
    if (begun.status === 'over') {
      refuse('endsAtMs', begun.endsAtMs, "Give a time that is after startsAtMs and not over by Redis' clock.");
    }
    return begun;
  }

  /** Appends what the pool lacks; where another creator is ahead, goes on from where that one stands. */
  private async fill({ meta, pool }: BucketKeys, entries: readonly string[]): Promise<void> {
    let offset = 0;
    while (offset < entries.length) {
      const chunk = entries.slice(offset, offset + CHUNK_PACKETS);
      const { status, length } = await this.registry.run(fillPool, { keys: { meta, pool }, args: { offset, chunk } });
      if (status === 'closed') return;
      offset = length;
    }
  }

  /** Answers whether this call opened it. */
  private async open({ activityId }: Layout, { meta, pool, grants, outbox }: BucketKeys): Promise<boolean> {
    const keys = { meta, pool, grants, outbox };
    const opened = await this.registry.run(openActivity, { keys, args: { group: PAYOUT_GROUP } });
    if (opened === 'incomplete' || opened === 'missing') {
      throw new ActivityIncompleteError(
        `Activity ${JSON.stringify(activityId)} is ${opened} and was not opened. Create it again to resume.`,
      );
    }
    return opened === 'opened';
  }
}

/** The figures that a repeat must have in common with the first call. */
export function fingerprintOf({ seed = '', amounts = [], ...figures }: CheckedActivity): string {
  const named = Object.entries(figures).sort(([one], [other]) => (one < other ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([named, seed, amounts]))
    .digest('hex')
    .slice(0, 32);
}

/** Deals the packets out in turn; they are shuffled already, so buckets are equally lucky. */
function sharesOf(amounts: readonly number[], buckets: number): Share[] {
  const sums = Array.from({ length: buckets }, () => 0);
  const entries = sums.map((): string[] => []);
  amounts.forEach((cents, i) => {
    const bucket = i % buckets;
    const sum = (sums[bucket] ?? 0) + cents;
    sums[bucket] = sum;
    entries[bucket]?.push(`${i + 1}:${cents}:${sum}`);
  });
  return entries.map((list, bucket) => ({ bucket, totalCents: sums[bucket] ?? 0, entries: list }));
}
