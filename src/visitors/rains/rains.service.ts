import { Injectable } from '@nestjs/common';
import { RedPacketService, type ActivityState, type ActivityStatus } from 'luanest/red-packet';
import { RedisClock } from '../../platform/redis-clock';

const DAY_MS = 86_400_000;
/** Age up to which one status is used for all visitors, ms: each process asks Redis at most four times a second. */
const KEPT_MS = 250;
const LIST_KEPT_MS = 2_000;
const MOST_KEPT = 1_000;
const MOST_LISTED = 50;

/** A rain as a visitor sees it. */
export interface RainSight {
  readonly activityId: string;
  /** State of the activity; `preheated` also while it is paused before the first grant. */
  readonly state: ActivityState;
  readonly packets: number;
  readonly remainingPackets: number;
  /** Time until it opens, ms; null if it is open, over, or opened by hand. */
  readonly opensInMs: number | null;
  /** Time until it ends, ms; null if it is over, or the end is more than a day ahead. */
  readonly endsInMs: number | null;
}

interface Kept<T> {
  readonly atMs: number;
  readonly value: Promise<T>;
}

/** Reads rains for visitors and operators, with a short-lived cache. */
@Injectable()
export class RainsService {
  private readonly sights = new Map<string, Kept<ActivityStatus | undefined>>();
  private listed: Kept<readonly ActivityStatus[]> | undefined;

  constructor(
    private readonly packets: RedPacketService,
    private readonly clock: RedisClock,
  ) {}

  /** Reads a rain; undefined if there is none with this id. */
  async sight(activityId: string): Promise<RainSight | undefined> {
    let kept = this.sights.get(activityId);
    if (kept === undefined || isStale(kept, KEPT_MS)) {
      if (this.sights.size >= MOST_KEPT) this.sights.clear();
      kept = { atMs: performance.now(), value: this.packets.status(activityId) };
      this.sights.set(activityId, kept);
    }
    const status = await kept.value;
    return status && this.sightOf(status);
  }

  /** Returns the rain to take part in: the newest that is not over, else the newest; undefined if there is none. */
  async latest(): Promise<RainSight | undefined> {
    const all = await this.list();
    const newest = all.find(({ state }) => state !== 'ended' && state !== 'closed') ?? all[0];
    return newest && this.sight(newest.activityId);
  }

  /** Returns the last fifty rains, the newest first. */
  list(): Promise<readonly ActivityStatus[]> {
    if (this.listed === undefined || isStale(this.listed, LIST_KEPT_MS)) {
      this.listed = { atMs: performance.now(), value: this.readAll() };
    }
    return this.listed.value;
  }

  private async readAll(): Promise<readonly ActivityStatus[]> {
    const ids = (await this.packets.activities()).slice(-MOST_LISTED);
    const all = await Promise.all(ids.map((activityId) => this.packets.status(activityId)));
    return all.filter((status) => status !== undefined).sort((one, other) => other.createdAtMs - one.createdAtMs);
  }

  private sightOf(status: ActivityStatus): RainSight {
    const { activityId, packets, remainingPackets, startsAtMs, endsAtMs } = status;
    const now = this.clock.nowMs();
    const held = status.state === 'paused' && status.grantedPackets === 0;
    const state = held ? 'preheated' : status.state;
    const over = state === 'ended' || state === 'closed';
    const waits = state === 'preheated' && !held && startsAtMs > now;
    return {
      activityId,
      state,
      packets,
      remainingPackets,
      opensInMs: waits ? startsAtMs - now : null,
      endsInMs: over || !isNear(endsAtMs, now) ? null : Math.max(0, endsAtMs - now),
    };
  }
}

/** Returns true if the end is worth a countdown. A rain without a set end ends shortly before Redis forgets it. */
function isNear(endsAtMs: number, now: number): boolean {
  return endsAtMs - now < DAY_MS;
}

function isStale({ atMs }: Kept<unknown>, keptMs: number): boolean {
  return performance.now() - atMs > keptMs;
}
