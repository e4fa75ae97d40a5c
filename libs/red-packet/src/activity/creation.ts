import { createHash, randomBytes } from 'node:crypto';
import type { ScriptRegistry } from 'luanest/script-registry';
import { Steps } from '../../../internal/src';
import { keysOf, PAYOUT_GROUP, type BucketKeys, type Layout, type Layouts } from '../buckets/layout';
import { ActivityConflictError, ActivityIncompleteError } from '../red-packet.errors';
import { refuse, type CheckedActivity } from '../red-packet.input';
import type { RedPacketServiceOptions } from '../red-packet.options';
import type { CreateResult } from '../red-packet.types';
import { splitBy } from '../split';
import { beginActivity, CHUNK_PACKETS, fillPool, openActivity } from './activity.scripts';
import type { ActivityList } from './activity-list';
import type { Closing } from './closing';

/** Number that stands for the root instead of a bucket: the hash that has the number of buckets of a sharded activity. */
const ROOT = -1;

interface Share {
  readonly bucket: number;
  readonly totalCents: number;
  /** Packets of one bucket, each as `<packetId>:<cents>:<sum>`. `sum` counts the cents of this packet and of all packets before it. */
  readonly entries: readonly string[];
}

// See DECISIONS.md: creation-is-three-scripts
/**
 * Creates activities in three steps, each of which may be repeated: store the parameters, fill the buckets with packets in chunks of up to
 * 1,000, and open the buckets.
 */
export class Creation {
  constructor(
    private readonly registry: ScriptRegistry,
    private readonly layouts: Layouts,
    private readonly list: ActivityList,
    private readonly settings: Pick<RedPacketServiceOptions, 'retentionMs' | 'soldOutMs' | 'onClosed'>,
    private readonly closing: Closing,
  ) {}

  /** Creates an activity, or finishes the creation of one with the same id and parameters. Throws the errors of RedPacketService.create. */
  async create(activity: CheckedActivity): Promise<CreateResult> {
    const { activityId, startsAtMs, endsAtMs } = activity;
    const { retentionMs } = this.settings;
    const steps = new Steps('RedPacketService.create', 'Send the same create call again: that is safe.');
    // The id is added to the list first. So while any activity exists, the list is not empty, and the number of partitions cannot change.
    // After a crash, an unused id may stay in the list, which `settle` removes.
    await steps.one(this.list.add(activityId, retentionMs, Math.max(startsAtMs, endsAtMs)));
    return steps.read(this.createListed(activity));
  }

  private async createListed(activity: CheckedActivity): Promise<CreateResult> {
    const { activityId, totalCents, packets, buckets } = activity;
    const fingerprint = fingerprintOf(activity);
    const root = keysOf(this.layouts.root(activityId), 0);
    const seed = randomBytes(16).toString('hex');
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
      // The parameters were compared, so `endsAtMs` is the end of this activity. The closing task comes before the opening, so that a crash
      // cannot leave an open activity without a closing task.
      // See DECISIONS.md: closing-task-before-opening
      await this.closing.schedule(activityId, begun.endsAtMs);
      const layout = this.layouts.build(activityId, buckets);
      const amounts = splitBy(activity.split, activity, begun.seed, activity.amounts);
      const shares = sharesOf(amounts, buckets);
      if (!single) {
        for (const { bucket, totalCents: cents, entries } of shares) {
          const share = { bucket, totalCents: cents, packets: entries.length, expiresAtMs: begun.expiresAtMs };
          const { seed: found } = await this.begin(activity, keysOf(layout, bucket), {
            fingerprint,
            seed: begun.seed,
            ...share,
          });
          // Redis has lost the root of an earlier call, whose split gave this bucket other packets. The shares of two splits do not add up.
          if (found !== begun.seed) throw lostParameters(activityId);
        }
      }
      await Promise.all(shares.map(({ bucket, entries }) => this.fill(keysOf(layout, bucket), entries)));
      // No bucket may open before all buckets are full.
      if (!single) await Promise.all(layout.buckets.map((keys) => this.open(layout, keys)));
    } else if (begun.state !== 'closed') {
      // Redis may have lost the closing task, so it is scheduled again if it does not exist.
      await this.closing.schedule(activityId, begun.endsAtMs, 'keep');
    }
    // The note that the keys of a settled activity will expire was deleted by `list.add`. Without the note, the id would stay in the list
    // after the keys have expired, so the note is written again.
    if (begun.status === 'settled') await this.list.retire(activityId, true);
    const created = await this.open(this.layouts.root(activityId), root);
    return { activityId, totalCents, packets, created };
  }

  private async begin(
    activity: CheckedActivity,
    { meta, pool, grants }: BucketKeys,
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
    const { retentionMs, soldOutMs, onClosed } = this.settings;
    const rules = { startsAtMs, endsAtMs, maxTries, soldOutMs, retentionMs };
    const begun = await this.registry.run(beginActivity, {
      keys: { meta, pool, grants },
      args: {
        ...part,
        ...rules,
        allPackets,
        buckets,
        reports: onClosed === undefined ? 0 : 1,
        encodedId: encodeURIComponent(activityId),
      },
    });
    const name = `Activity ${JSON.stringify(activityId)}`;
    if (begun.status === 'conflict') {
      throw new ActivityConflictError(
        `${name} exists with other parameters, and was not changed. Choose another id, or send the parameters of the first call.`,
      );
    }
    if (begun.status === 'orphaned') {
      throw lostParameters(activityId);
    }
    if (begun.status === 'over') {
      refuse('endsAtMs', begun.endsAtMs, "a time after startsAtMs and in the future by Redis' clock");
    }
    return begun;
  }

  /**
   * Appends the packets that the bucket does not have yet. If another process fills the same bucket at the same time, continues after the
   * last packet of either process.
   */
  private async fill({ meta, pool }: BucketKeys, entries: readonly string[]): Promise<void> {
    let offset = 0;
    while (offset < entries.length) {
      const chunk = entries.slice(offset, offset + CHUNK_PACKETS);
      const { status, length } = await this.registry.run(fillPool, { keys: { meta, pool }, args: { offset, chunk } });
      if (status === 'closed') return;
      offset = length;
    }
  }

  /**
   * Opens a bucket or the root. Returns true if this call opened it, and false if an earlier call did.
   *
   * @throws ActivityIncompleteError if packets or parameters are missing in Redis
   */
  private async open({ activityId }: Layout, { meta, pool, grants, outbox }: BucketKeys): Promise<boolean> {
    const keys = { meta, pool, grants, outbox };
    const opened = await this.registry.run(openActivity, { keys, args: { group: PAYOUT_GROUP } });
    if (opened === 'incomplete' || opened === 'missing') {
      const problem =
        opened === 'missing' ? 'its parameters are no longer in Redis' : 'not all of its packets are in Redis';
      throw new ActivityIncompleteError(
        `Activity ${JSON.stringify(activityId)} was not opened, because ${problem}. Send the same create call again. ` +
          'If that call fails too, choose another id.',
      );
    }
    return opened === 'opened';
  }
}

function lostParameters(activityId: string): ActivityConflictError {
  return new ActivityConflictError(
    `Activity ${JSON.stringify(activityId)} was created before, and Redis has lost a part of its data (its parameters). It was not ` +
      'opened. Choose another id. If Redis evicts keys, set maxmemory-policy to noeviction.',
  );
}

/** Returns a hash of the parameters, by which a repeated `create` call is compared with the first one. */
export function fingerprintOf({ amounts = [], ...parameters }: CheckedActivity): string {
  const named = Object.entries(parameters).sort(([one], [other]) => (one < other ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([named, amounts]))
    .digest('hex')
    .slice(0, 32);
}

/**
 * Distributes the packets over the buckets in turn. All split methods except `given` return packets in random order, so no bucket gets
 * larger packets on average.
 */
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
