import { checkHistory } from './check-history';
import { FAULTS, type FaultKind } from './record/faults';
import type { Recorded } from './record/journal';
import { randomOf } from './record/random';
import { Rig } from './record/rig';
import { subjectOf } from './subjects';
import type { HistoryPlan } from './subjects/subject';

export interface CampaignSettings {
  readonly subjects: readonly string[];
  /** Histories in all, at least. */
  readonly histories: number;
  /** The last batch begins before this time is over, s. Default: no bound. */
  readonly seconds?: number | undefined;
  readonly seed: number;
  readonly log: (line: string) => void;
  /** Called for each violation, at once. */
  readonly violated: (violation: Violation) => void;
}

/** Histories of a subject, or of all. */
export interface Counts {
  histories: number;
  operations: number;
  /** Operations with an unknown outcome. */
  pending: number;
  /** Configurations that the checker looked at. */
  configurations: number;
  /** Histories of fewer operations. They do not count. */
  short: number;
  /** Histories whose check ended at its bound. They do not count, and each is a violation. */
  undecided: number;
}

export interface Violation {
  readonly plan: HistoryPlan;
  readonly problem: string;
  readonly recorded: readonly Recorded[];
}

export interface CampaignResult {
  readonly seed: number;
  readonly seconds: number;
  readonly counts: ReadonlyMap<string, Counts>;
  readonly faults: ReadonlyMap<FaultKind, number>;
  readonly violations: readonly Violation[];
}

/** A history counts from so many operations on. */
const FEWEST_OPERATIONS = 50;
/** Histories that are recorded side by side. */
const SIDE_BY_SIDE = 200;
const WORKERS = 3;
const PACE = { rounds: 7, roundMs: 280, calls: 2, clients: 2 };
/** Faults of each batch. */
const FAULTS_OF_BATCH: readonly FaultKind[] = [...FAULTS, 'links cut', 'links cut'];

/** Records histories batch by batch, and checks each batch before the next one. */
export async function runCampaign(settings: CampaignSettings): Promise<CampaignResult> {
  const { subjects, histories, seconds = Infinity, seed, log, violated } = settings;
  const started = performance.now();
  const tookS = (): number => (performance.now() - started) / 1_000;
  const counts = new Map(subjects.map((name) => [name, emptyCounts()]));
  const faults = new Map<FaultKind, number>(FAULTS.map((kind) => [kind, 0]));
  const violations: Violation[] = [];
  const random = randomOf(seed);
  const rig = await Rig.open({ subjects, workers: WORKERS });
  try {
    const wanted = Math.ceil(histories / subjects.length);
    const leftOf = (name: string): number => wanted - (counts.get(name)?.histories ?? 0);
    for (let batch = 1; subjects.some((name) => leftOf(name) > 0) && tookS() < seconds; batch++) {
      const most = Math.ceil(SIDE_BY_SIDE / subjects.length);
      const plans = subjects.flatMap((name) => plansOf(name, batch, Math.min(most, leftOf(name))));
      const recorded = await rig.record(
        { ...PACE, plans, seed: seed + 1_000_003 * batch },
        FAULTS_OF_BATCH,
        random,
        (kind) => faults.set(kind, (faults.get(kind) ?? 0) + 1),
      );
      for (const plan of plans) {
        const violation = count(plan, recorded.get(plan.key) ?? [], counts.get(plan.subject) as Counts);
        if (violation === undefined) continue;
        violations.push(violation);
        violated(violation);
      }
      const total = totalOf(counts);
      log(
        `${total.histories} histories, ${total.operations} operations, ${violations.length} violations, ${tookS().toFixed(0)} s`,
      );
    }
  } finally {
    await rig.close();
  }
  return { seed, seconds: tookS(), counts, faults, violations };
}

export function totalOf(counts: ReadonlyMap<string, Counts>): Counts {
  const total = emptyCounts();
  for (const one of counts.values()) {
    for (const figure of Object.keys(total) as (keyof Counts)[]) total[figure] += one[figure];
  }
  return total;
}

function emptyCounts(): Counts {
  return { histories: 0, operations: 0, pending: 0, configurations: 0, short: 0, undecided: 0 };
}

/** Each flavour in turn, and each with and without repeated calls. */
function plansOf(name: string, batch: number, count: number): HistoryPlan[] {
  const { flavours } = subjectOf(name);
  return Array.from({ length: Math.max(0, count) }, (_, n) => ({
    key: `${name}-${batch}-${n}`,
    subject: name,
    flavour: flavours[n % flavours.length] as string,
    resend: Math.floor(n / flavours.length) % 2 === 1,
  }));
}

function count(plan: HistoryPlan, recorded: readonly Recorded[], counts: Counts): Violation | undefined {
  const { operations, pending, verdict, problem } = checkHistory(plan, recorded);
  counts.configurations += verdict.configurations;
  if (verdict.result === 'unknown') counts.undecided += 1;
  if (problem !== undefined) return { plan, problem, recorded };
  if (operations < FEWEST_OPERATIONS) {
    counts.short += 1;
    return undefined;
  }
  counts.histories += 1;
  counts.operations += operations;
  counts.pending += pending;
  return undefined;
}
