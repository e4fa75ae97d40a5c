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

/** Index of the root; buckets have indexes from 0. */
const ROOT = -1;

/** Part of an activity that one bucket gets. */
interface Share {
  readonly bucket: number;
  readonly totalCents: number;
  /** `<packetId>:<cents>:<sum>` */
  readonly entries: readonly string[];
}

// See DECISIONS.md: creation-is-three-scripts
/** Creates activities in steps that may be repeated: store the parameters, fill the pools in chunks, open the buckets. */
export class Creation {
  constructor(
    private readonly registry: ScriptRegistry,
    private readonly layouts: Layouts,
    private readonly indexKey: string,
    private readonly settings: Pick<RedPacketServiceOptions, 'retentionMs' | 'soldOutMs'>,
    private readonly closing: Closing,
  ) {}

  /** Creates an activity, or resumes one with the same parameters. @throws ActivityConflictError, ActivityIncompleteError */
  async create(activity: CheckedActivity): Promise<CreatedActivity> {
    const { activityId, startsAtMs, endsAtMs, totalCents, packets, buckets } = activity;
    const { retentionMs } = this.settings;
    this.closing.check(activity, retentionMs);
    // Listed before it exists: a crash in between leaves an unused name, not an activity that payout runs cannot find.
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
      // Scheduled when the parameters are known to be the activity's, and before it opens: every open activity is closed.
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
      // The queue may have lost the task.
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
    const { retentionMs, soldOutMs } = this.settings;
    const rules = { startsAtMs, endsAtMs, maxTries, soldOutMs, retentionMs };
    const begun = await this.registry.run(beginActivity, {
      keys: { meta, pool, grants, outbox },
      args: { ...part, ...rules, allPackets, buckets },
    });
    const name = `Activity ${JSON.stringify(activityId)}`;
    if (begun.status === 'conflict') {
      throw new ActivityConflictError(
        `${name} exists with other parameters. Choose another id, or repeat the first parameters.`,
      );
    }
    if (begun.status === 'orphaned') {
      throw new ActivityConflictError(
        `${name} has lost its parameters, but other keys of it remain. Choose another id, and set maxmemory-policy to noeviction.`,
      );
    }
    if (begun.status === 'over') {
      refuse('endsAtMs', begun.endsAtMs, "a time after startsAtMs that is not past by Redis' clock");
    }
    return begun;
  }

  /** Appends the packets that the pool lacks. If another process fills it too, it continues at the length that is reached. */
  private async fill({ meta, pool }: BucketKeys, entries: readonly string[]): Promise<void> {
    let offset = 0;
    while (offset < entries.length) {
      const chunk = entries.slice(offset, offset + CHUNK_PACKETS);
      const { status, length } = await this.registry.run(fillPool, { keys: { meta, pool }, args: { offset, chunk } });
      if (status === 'closed') return;
      offset = length;
    }
  }

  /** Opens a bucket or the root. Returns true if this call opened it. @throws ActivityIncompleteError */
  private async open({ activityId }: Layout, { meta, pool, grants, outbox }: BucketKeys): Promise<boolean> {
    const keys = { meta, pool, grants, outbox };
    const opened = await this.registry.run(openActivity, { keys, args: { group: PAYOUT_GROUP } });
    if (opened === 'incomplete' || opened === 'missing') {
      throw new ActivityIncompleteError(
        `Activity ${JSON.stringify(activityId)} is ${opened}, so it was not opened. Create it again to resume.`,
      );
    }
    return opened === 'opened';
  }
}

/** Hash of the parameters: a repeated creation must have the same. */
export function fingerprintOf({ seed = '', amounts = [], ...parameters }: CheckedActivity): string {
  const named = Object.entries(parameters).sort(([one], [other]) => (one < other ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([named, seed, amounts]))
    .digest('hex')
    .slice(0, 32);
}

/** Deals the packets out to the buckets in turn. They are shuffled already, so no bucket is luckier than another. */
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
