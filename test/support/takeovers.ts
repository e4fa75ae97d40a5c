/** A stretch of time, ms. */
export type Span = readonly [from: number, to: number];

/** Report of a worker: it began an attempt, or the attempt succeeded. */
export interface Told<Worker> {
  readonly what: 'begun' | 'done';
  readonly id: string | number;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  readonly by: Worker;
  /** Time of the report, ms, by the clock of `killedAt` and `outages`. */
  readonly at: number;
}

/** Kills of workers and pauses of Redis. */
export interface Faults<Worker> {
  readonly leaseMs: number;
  readonly killedAt: (worker: Worker) => number | undefined;
  /** Times in which Redis was unavailable or the machine stood still. */
  readonly outages: readonly Span[];
}

export interface Takeovers {
  /** Ids that were handled to their end. */
  readonly done: number;
  readonly handledTwice: number;
  /**
   * Causes of `handledTwice`: the worker was killed before it acknowledged (`byKill`), Redis was unavailable (`byOutage`), or
   * the cause is not known.
   */
  readonly byKill: number;
  readonly byOutage: number;
  readonly unexplained: number;
  /** Number of attempts whose worker was killed, and that another worker took over. */
  readonly abandoned: number;
  /** Those of `abandoned` that fell into an outage of Redis, so that their delay means nothing. */
  readonly duringOutage: number;
  readonly takenOverTwice: number;
  /** From a kill to the next attempt's beginning, ms. */
  readonly slowestTakeoverMs: number;
}

/** Time after the end of work in which its worker acknowledges it, ms. */
const ACKNOWLEDGED_MS = 1_000;

/** Finds out from the reports of workers why work ran twice, and how soon work of killed workers was started again. */
export function takeoversOf<Worker>(told: readonly Told<Worker>[], faults: Faults<Worker>): Takeovers {
  const { leaseMs, killedAt, outages } = faults;
  const near = (at: number, before: number): boolean =>
    outages.some(([from, to]) => at >= from - before && at <= to + leaseMs + 1_000);
  const [begun, done] = [byId(told, 'begun'), byId(told, 'done')];
  const twice = [...done.values()].filter((times) => times.length > 1);
  const figures = { byKill: 0, byOutage: 0, unexplained: 0, abandoned: 0, duringOutage: 0, takenOverTwice: 0 };
  for (const times of twice) {
    const first = times.reduce((a, b) => (a.at < b.at ? a : b));
    const killed = killedAt(first.by);
    if (killed !== undefined && killed - first.at < ACKNOWLEDGED_MS) figures.byKill += 1;
    else figures[near(first.at, leaseMs) ? 'byOutage' : 'unexplained'] += 1;
  }
  let slowestTakeoverMs = 0;
  for (const [id, times] of begun) {
    for (const { by, attempt } of times) {
      const killed = killedAt(by);
      const next = times.filter((one) => one.attempt > attempt).sort((a, b) => a.attempt - b.attempt)[0];
      if (killed === undefined || next === undefined || done.get(id)?.some((one) => one.by === by)) continue;
      figures.abandoned += 1;
      // A worker that took over the work may have been killed before its report, so attempts are counted, not reports.
      const takeovers = next.attempt - attempt;
      if (takeovers > 1) figures.takenOverTwice += 1;
      if (near(killed, leaseMs + 1_000)) figures.duringOutage += 1;
      else slowestTakeoverMs = Math.max(slowestTakeoverMs, Math.round((next.at - killed) / takeovers));
    }
  }
  return { done: done.size, handledTwice: twice.length, ...figures, slowestTakeoverMs };
}

function byId<Worker>(told: readonly Told<Worker>[], wanted: 'begun' | 'done'): Map<string | number, Told<Worker>[]> {
  const found = new Map<string | number, Told<Worker>[]>();
  for (const one of told) {
    if (one.what !== wanted) continue;
    const times = found.get(one.id);
    if (times) times.push(one);
    else found.set(one.id, [one]);
  }
  return found;
}
