import { Injectable } from '@nestjs/common';
import { RedPacketService, type ActivityStatus } from 'luanest/red-packet';
import { RedisClock } from '../../platform/redis-clock';

const DAY_MS = 86_400_000;
/** Age up to which a status is used again for all visitors, ms. It spares Redis a read per visitor. */
const KEPT_MS = 250;
/** Age up to which the list of rains is used, ms. */
const LIST_KEPT_MS = 2_000;
const MOST_KEPT = 1_000;
const MOST_LISTED = 50;

/** A rain as a visitor sees it. */
export interface RainSight {
  readonly activityId: string;
  /** State of the rain, but `preheated` while the rain is paused and has no grants: an operator starts it by hand. */
  readonly state: ActivityStatus['state'];
  readonly packets: number;
  readonly remainingPackets: number;
  /** Time until the rain opens, ms; null if no known start is ahead. */
  readonly opensInMs: number | null;
  /** Time until the rain ends, ms; null if it is over, or ends in a day or later. */
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

  /** Reads a rain, or returns it as read up to 250 ms ago; undefined if Redis has no rain with this id. */
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

  /** Returns the rain to take part in, of `list()`: the newest that is not over, else the newest; undefined without rains. */
  async latest(): Promise<RainSight | undefined> {
    const all = await this.list();
    const newest = all.find(({ state }) => state !== 'ended' && state !== 'closed') ?? all[0];
    return newest && this.sight(newest.activityId);
  }

  /** Returns up to fifty rains, those that the index lists last, the newest first, as read up to 2 s ago. */
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

/** Returns true if the end is less than a day ahead. A later end is not shown: it may be the end of the retention only. */
function isNear(endsAtMs: number, now: number): boolean {
  return endsAtMs - now < DAY_MS;
}

function isStale({ atMs }: Kept<unknown>, keptMs: number): boolean {
  return performance.now() - atMs > keptMs;
}
