import type { Span } from '../../../test/support/takeovers';
import type { ClaimRecord, NodeRecord } from './slot-records';

/** How a slot that nobody ran is accounted for by the records. */
export type Reason =
  | 'no process was alive and ready'
  | 'the process that claimed it was killed'
  | 'the process that claimed it was stopped beyond its lease'
  | 'the lock of a killed or stopped process lasted'
  | 'each tick in it was held up or killed'
  | 'no timer fired: the process stood still'
  | "no timer fired: Node's interval came later than its period";

export interface Proof {
  readonly slots: number;
  readonly ran: number;
  readonly twice: readonly number[];
  readonly missing: ReadonlyMap<number, Reason>;
  /** Slots that no record explains, and the known facts about them. */
  readonly unexplained: readonly { readonly slot: number; readonly why: string }[];
}

/** Longest time between a timer and its effect on a busy machine that is not recorded as a stall, ms. */
const SLACK_MS = 30;

/** How long the way of a tick to Redis may take on such a machine; what takes longer is seen as a stall of one of them, ms. */
const WAY_MS = 100;

const overlaps = (spans: readonly Span[], from: number, to: number): boolean =>
  spans.some((span) => span[0] < to && span[1] > from);

/** When a process did nothing: by its own record, or by that of who stopped it. */
const stoodStill = (node: NodeRecord, from: number, to: number): boolean =>
  overlaps([...node.stops, ...node.stalls], from, to);

// See DECISIONS.md: each-slot-proven-from-records
/** Accounts for each slot of a job from `from` to `to`, ms since the epoch. */
export function proveSlots(
  job: string,
  periodMs: number,
  nodes: readonly NodeRecord[],
  claims: readonly ClaimRecord[],
  [from, to]: Span,
): Proof {
  const mine = claims.filter((claim) => claim.job === job);
  const times = new Map<number, number>();
  for (const { runs } of nodes) {
    for (const run of runs) if (run.job === job) times.set(run.slot, (times.get(run.slot) ?? 0) + 1);
  }
  const missing = new Map<number, Reason>();
  const unexplained: { slot: number; why: string }[] = [];
  let slots = 0;
  let ran = 0;
  for (let slot = Math.ceil(from / periodMs) * periodMs; slot + periodMs <= to; slot += periodMs) {
    slots++;
    if (times.has(slot)) {
      ran++;
      continue;
    }
    const reasons = nodes.map((node) => ofNode(node, nodes, mine, job, slot, periodMs));
    const why = reasons.flatMap((reason) => (typeof reason === 'object' ? [reason.why] : []));
    const known = reasons.find((reason) => typeof reason === 'string');
    if (why.length > 0) unexplained.push({ slot, why: why.join('; ') });
    else missing.set(slot, known ?? 'no process was alive and ready');
  }
  const twice = [...times].filter(([, count]) => count > 1).map(([slot]) => slot);
  return { slots, ran, twice, missing, unexplained };
}

/** Reason why a process did not run a slot; undefined where it was not there for it. */
function ofNode(
  node: NodeRecord,
  nodes: readonly NodeRecord[],
  claims: readonly ClaimRecord[],
  job: string,
  slot: number,
  periodMs: number,
): Reason | { readonly why: string } | undefined {
  const end = slot + periodMs;
  const fires = node.fires.filter((fire) => fire.job === job);
  const inSlot = fires.filter(({ at }) => at >= slot && at < end);
  if (inSlot.length > 0) {
    const reasons = inSlot.map(({ id, at }) => ofTick(node, nodes, claims, job, slot, periodMs, id, at));
    return reasons.find((reason) => typeof reason === 'object') ?? reasons[0];
  }
  // A cron timer is due when its slot begins, that of an interval at any time of the period.
  const due = job === 'cron' ? slot + WAY_MS : end;
  if (node.readyAt > slot || node.endedAt < due) return undefined;
  // It was there, and its timer did not fire.
  const before = fires.findLast(({ at }) => at < slot)?.at ?? node.readyAt;
  const after = fires.find(({ at }) => at >= end)?.at ?? node.endedAt;
  if (overlaps(node.stops, slot, due)) return undefined;
  if (stoodStill(node, before, after)) return 'no timer fired: the process stood still';
  if (job === 'every' && after - before < periodMs + SLACK_MS) {
    return "no timer fired: Node's interval came later than its period";
  }
  return { why: `${node.name} was ready, and its timer did not fire between ${before} and ${after}` };
}

/** Reason why a tick whose timer fired in a slot did not run it. */
function ofTick(
  node: NodeRecord,
  nodes: readonly NodeRecord[],
  claims: readonly ClaimRecord[],
  job: string,
  slot: number,
  periodMs: number,
  id: number,
  firedAt: number,
): Reason | { readonly why: string } {
  const told = node.outcomes.find((status) => status.job === job && status.id === id);
  if (!told) {
    if (!node.killed || node.endedAt < firedAt)
      return { why: `${node.name} fired at ${firedAt} and reported no status` };
    const claimed = claims.some((claim) => claim.slot === slot && claim.node === node.name);
    return claimed ? 'the process that claimed it was killed' : 'each tick in it was held up or killed';
  }
  const seen = `${node.name} fired at ${firedAt} and reported ${told.status} of ${told.slot} at ${told.at}`;
  const heldUp = stoodStill(node, firedAt, told.at);
  if (told.slot > slot) {
    const atItsEnd = slot + periodMs - firedAt < WAY_MS;
    return heldUp || atItsEnd ? 'each tick in it was held up or killed' : { why: seen };
  }
  const broken = ({ node: name, since, endedAt = Infinity }: ClaimRecord): 'killed' | 'stopped' | undefined => {
    const holder = nodes.find((one) => one.name === name);
    if (holder?.killed && holder.endedAt >= since - SLACK_MS && holder.endedAt <= endedAt) return 'killed';
    return holder && stoodStill(holder, since - SLACK_MS, Math.min(endedAt, told.at)) ? 'stopped' : undefined;
  };
  switch (told.status) {
    case 'skipped-slot': {
      const claim = claims.find((one) => one.slot === slot);
      if (!claim) {
        const later = claims.some((one) => one.slot > slot && one.since <= told.at);
        if (later && heldUp) return 'each tick in it was held up or killed';
        // It looked for the lock until its slot was over, and then a later slot had been claimed.
        const end = slot + periodMs;
        const holder = later && told.at >= end ? claims.findLast((one) => one.slot < slot) : undefined;
        const lasted = holder !== undefined && (holder.endedAt ?? Infinity) >= end - WAY_MS;
        if (lasted && broken(holder)) return 'the lock of a killed or stopped process lasted';
        return { why: `${seen}, and nobody claimed it` };
      }
      const how = broken(claim);
      if (how === 'killed') return 'the process that claimed it was killed';
      if (how === 'stopped') return 'the process that claimed it was stopped beyond its lease';
      return { why: `${seen}, and ${claim.node} claimed it at ${claim.since}` };
    }
    case 'skipped-held': {
      const holder = claims.findLast((one) => one.since <= told.at && one.slot < slot);
      if (holder && broken(holder)) return 'the lock of a killed or stopped process lasted';
      return { why: `${seen}, and ${holder?.node} had the lock from ${holder?.since} to ${holder?.endedAt}` };
    }
    case 'lost':
      return heldUp ? 'the process that claimed it was stopped beyond its lease' : { why: seen };
    case 'stale':
    case 'redis-error':
      return heldUp ? 'each tick in it was held up or killed' : { why: seen };
    default:
      return { why: seen };
  }
}
