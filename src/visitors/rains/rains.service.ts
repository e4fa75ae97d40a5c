import { Injectable } from '@nestjs/common';
import { RedPacketService, type ActivityState, type ActivityStatus } from 'luanest/red-packet';
import { RedisClock } from '../../platform/redis-clock';

/** However many visitors look, Redis is asked so often by a process. */
const DAY_MS = 86_400_000;
const KEPT_MS = 250;
const LIST_KEPT_MS = 2_000;
const MOST_KEPT = 1_000;
const MOST_LISTED = 50;

/** A rain as a visitor sees it. */
export interface RainSight {
  readonly activityId: string;
  /** As the activity's, but `preheated` also for a pause before the first packet was handed out. */
  readonly state: ActivityState;
  readonly packets: number;
  readonly remainingPackets: number;
  /** Until it opens, ms; null where nothing is set, or it is over. */
  readonly opensInMs: number | null;
  /** Until it ends, ms; likewise. */
  readonly endsInMs: number | null;
}

interface Kept<T> {
  readonly atMs: number;
  readonly value: Promise<T>;
}

/** What visitors and operators are told of rains. */
@Injectable()
export class RainsService {
  private readonly sights = new Map<string, Kept<ActivityStatus | undefined>>();
  private listed: Kept<readonly ActivityStatus[]> | undefined;

  constructor(
    private readonly packets: RedPacketService,
    private readonly clock: RedisClock,
  ) {}

  /** A rain; undefined when there is none of this id. */
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

  /** The rain to take part in: the newest that is not over, else the newest; undefined when there is none. */
  async latest(): Promise<RainSight | undefined> {
    const all = await this.list();
    const newest = all.find(({ state }) => state !== 'ended' && state !== 'closed') ?? all[0];
    return newest && this.sight(newest.activityId);
  }

  /** The last fifty rains, the newest first. */
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

/** Whether an end is worth a countdown: a rain that was made without one ends shortly before it is forgotten. */
function isNear(endsAtMs: number, now: number): boolean {
  return endsAtMs - now < DAY_MS;
}

function isStale({ atMs }: Kept<unknown>, keptMs: number): boolean {
  return performance.now() - atMs > keptMs;
}
