import type { Cut } from './network';
import { Random } from './random';
import { MEDDLINGS, type Meddling } from './redis-host';
import { REFUSALS, type Refusal } from './redis-node';

/** A fault. Times in ms; `p` is the index of a process, and `master` of a master, modulo their number. */
export type Fault =
  /** `pauses`: 0 for now; else in the middle of the n-th next pause of the process, which is mostly in the work of a handler. */
  | { readonly kind: 'kill'; readonly p: number; readonly downMs: number; readonly pauses: number }
  | { readonly kind: 'close'; readonly p: number; readonly downMs: number }
  /** `edge`: instead of `forMs`, until something ends in Redis, such as a lease: the first thing that ends from now on is 0. */
  | {
      readonly kind: 'stop';
      readonly p: number;
      readonly forMs: number;
      readonly readings: number;
      readonly edge?: number;
    }
  | { readonly kind: 'cut'; readonly p: number; readonly how: Cut; readonly lateMs: number; readonly skip: number }
  | { readonly kind: 'deaf'; readonly p: number }
  | { readonly kind: 'slow'; readonly p: number; readonly forMs: number; readonly delayMs: number }
  | {
      readonly kind: 'hold';
      readonly p: number;
      readonly repliesMs: number;
      readonly forMs: number;
      readonly edge?: number;
    }
  /** The request that is sent now comes later, and so does its reply. Only the search through orders draws it. */
  | { readonly kind: 'late'; readonly p: number; readonly requestMs: number; readonly replyMs: number }
  /** `forMs`: all scripts for so long, instead of `count` of them. */
  | {
      readonly kind: 'refuse';
      readonly master: number;
      readonly error: Refusal;
      readonly count: number;
      readonly forMs?: number;
    }
  | { readonly kind: 'flush'; readonly master: number }
  | { readonly kind: 'evict'; readonly onlyWithTtl: boolean }
  | { readonly kind: 'stranger'; readonly act: Meddling }
  | { readonly kind: 'redis-clock'; readonly byMs: number }
  | { readonly kind: 'clock'; readonly p: number; readonly byMs: number }
  /** The clocks and timers of a process run fast (above 0) or slow. */
  | { readonly kind: 'drift'; readonly p: number; readonly percent: number }
  /** `part`: only the keys of one hash tag go back. On a Cluster, all keys of the master do. */
  | {
      readonly kind: 'failover';
      readonly master: number;
      readonly lostMs: number;
      readonly downMs: number;
      readonly part: boolean;
    }
  /** `scripts`: 0 for now; else when Redis has run the n-th next script, before its reply, if that comes within `withinMs`. */
  | {
      readonly kind: 'redis-down';
      readonly master: number;
      readonly downMs: number;
      readonly scripts: number;
      readonly withinMs: number;
    }
  /** A slot of a Cluster moves to another master, key by key. */
  | { readonly kind: 'reshard'; readonly forMs: number };
export type FaultKind = Fault['kind'];

/** Kinds of faults that a lease survives if they are short. */
const MILD: ReadonlySet<FaultKind> = new Set(['stop', 'cut', 'slow', 'hold', 'refuse', 'flush', 'redis-down', 'deaf']);
const ALL_CUTS: readonly Cut[] = ['before', 'after', 'late'];
const CUTS: readonly (readonly Cut[])[] = [ALL_CUTS, ['before', 'after'], ['after'], ['after'], ['late']];
/** How many requests of scripts pass before one is cut. */
const SKIPS = [0, 0, 0, 0, 1, 1, 2, 3, 4, 6];
/** Shortest lease for which a connection that breaks is a short fault, ms. */
export const MILD_FROM_MS = 1_500;
/** Shortest lease that has time for an outage and the reconnect after it, ms. */
const LONG_LEASE_MS = 2_000;
/** How long a client waits at most before it tries to connect again, and what the connection takes, ms. */
const RECONNECT_MS = 650;

/** Largest difference between the speeds of a clock and of true time, percent. */
export const MOST_DRIFT = 1;
/** Which of the things that end soon a fault waits for. */
const EDGES = [0, 0, 0, 1, 1, 2];
/** A renewal is due after a third of a lease. */
const THIRDS = [1, 2, 2, 3, 6];

/** A fault when process `p` sends its n-th script, from 1. */
export interface Hit {
  readonly p: number;
  readonly script: number;
  readonly fault: Fault;
  /** Another fault, when another process sends the same script next, or after `skip` more of them. `own`: when the same process does. */
  readonly next?: { readonly skip: number; readonly own: boolean; readonly fault: Fault };
}

/** Something that happens to a run from outside: a fault, or an operation of a user in a process. */
export type Element<Operation = unknown> =
  | { readonly atMs: number; readonly fault: Fault }
  | Hit
  | { readonly atMs: number; readonly p: number; readonly operation: Operation };

/** Settings of the clients of a run. */
export interface ClientSettings {
  readonly resends: boolean;
  readonly protocol: 2 | 3;
  readonly grouping: boolean;
  readonly deadlineMs: number;
}

/** Everything that decides a run. The same plan gives the same run. */
export interface Plan {
  readonly seed: number;
  readonly lib: string;
  readonly processes: number;
  /** Masters of the Cluster; 1: one server. */
  readonly masters: number;
  readonly client: ClientSettings;
  readonly settings: unknown;
  /** Faults and operations end at this time. */
  readonly endMs: number;
  /** True: each fault is short compared with a lease, and rare. Then no lease is lost. */
  readonly mild: boolean;
  readonly elements: readonly Element[];
}

/** Describes the runs of a lib. */
export interface Planner {
  readonly name: string;
  /** Faults that its README speaks of, and how many of each a run has at most. */
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>;
  /** Kinds that meet in its promises. Two of five runs have the kinds of one of these rows, and no others. */
  readonly together: readonly (readonly FaultKind[])[];
  /** Further kinds that follow each other closely in small runs, see `systematic`. */
  readonly chains?: readonly (readonly FaultKind[])[];
  /** Scripts that decide most here. In small runs, half of the faults hit them. */
  readonly scripts?: RegExp;
  /** Draws the options of the lib, and how its users behave. */
  settings(random: Random): unknown;
  operation(random: Random, settings: never): unknown;
  /** Time that decides most here, such as the length of a lease, ms. Faults take about as long. */
  scaleMs(settings: never): number;
  /** Settings of an app that closes before the replies to its calls are there. */
  readonly hurried?: object;
  /** Length of a part of a run, which has 2 to 20 of them, ms. Default: `scaleMs`. */
  roundMs?(settings: never): number;
  /** True: decisions fall at the end of each round, such as a tick. So faults come then, too. */
  readonly decidesInRounds?: boolean;
}

/**
 * Draws a run. It has few kinds of faults, mostly, because such a run goes deeper than one with all. Operations come in bursts, so that
 * processes meet, and most faults come with an operation or soon after it, because decisions fall there.
 */
export function planOf(planner: Planner, seed: number, without: ReadonlySet<string> = new Set()): Plan {
  const random = new Random(seed, planner.name);
  const processes = random.pick([1, 2, 2, 3, 3, 4]);
  const settings = planner.settings(random);
  const scaleMs = planner.scaleMs(settings as never);
  const roundMs = planner.roundMs?.(settings as never) ?? scaleMs;
  const endMs = Math.max(500, roundMs * random.magnitude(2, 20));
  const client: ClientSettings = {
    resends: random.chance(0.5),
    protocol: random.chance(0.5) ? 3 : 2,
    grouping: random.chance(0.8),
    deadlineMs: random.magnitude(150, 5_000),
  };
  const operations: Act[] = [];
  for (let left = random.magnitude(5, 100); left > 0;) {
    const burst = Math.min(left, random.magnitude(1, 12));
    const atMs = random.integer(0, endMs);
    const spreadMs = random.magnitude(1, scaleMs);
    for (let index = 0; index < burst; index++, left--) {
      const p = random.integer(0, processes - 1);
      const operation = planner.operation(random, settings as never);
      operations.push({ atMs: atMs + random.integer(0, spreadMs), p, operation });
    }
  }
  const mild = scaleMs >= MILD_FROM_MS && random.chance(0.4);
  const moments: Moment[] = [...operations];
  if (planner.decidesInRounds) {
    for (let atMs = roundMs; atMs < endMs; atMs += roundMs) {
      for (let p = 0; p < processes; p++) moments.push({ atMs: Math.max(0, atMs - random.pick([1, 1, 5, 50])), p });
    }
  }
  const kinds = kindsOf(random, planner, mild);
  const scene = { processes, scaleMs, endMs, moments, mild, isAlone: kinds.length === 1 };
  const faults = kinds.flatMap((kind) => {
    const some = faultsOf(random.named(kind), kind, planner.faults[kind] as number, scene);
    return without.has(kind) ? [] : some;
  });
  // They draw numbers of their own, so that a run on one server and one on a Cluster differ in nothing else.
  const masters = random.named('masters').pick([1, 1, 1, 1, 2, 3]);
  const reshards = random.named('reshard');
  if (masters > 1 && !mild && reshards.chance(0.6) && !without.has('reshard')) {
    faults.push(...faultsOf(reshards, 'reshard', 6, scene));
  }
  const drifts = random.named('drift');
  if ('clock' in planner.faults && drifts.chance(0.15) && !without.has('drift')) {
    for (let p = 0; p < processes; p++) faults.push({ atMs: 0, fault: faultOf(drifts, 'drift', p, scene) });
  }
  const elements: Element[] = [...operations, ...faults].sort((a, b) => a.atMs - b.atMs);
  return { seed, lib: planner.name, processes, masters, client, settings, endMs, mild, elements };
}

/** An operation of a user, and when and where it happens. */
type Act = Extract<Element, { operation: unknown }>;

type Timed = Extract<Element, { atMs: number; fault: Fault }>;

/** When and where a decision may fall. */
type Moment = Pick<Act, 'atMs' | 'p'>;

/** Scene that faults meet. */
interface Scene extends Pick<Plan, 'processes' | 'endMs' | 'mild'> {
  readonly scaleMs: number;
  /** True: some faults last just until a lease ends, or until its renewal is due. */
  readonly hasEdges?: boolean;
  readonly moments: readonly Moment[];
  /** True if the run has one kind of fault. */
  readonly isAlone: boolean;
}

/** Draws the kinds of faults of a run. Those that a run may have often are a little more likely. */
function kindsOf(random: Random, { faults, together }: Planner, mild: boolean): FaultKind[] {
  if (!mild && random.chance(0.4)) return [...random.pick(together)];
  // An outage that is long for a mild run comes alone.
  if (mild && 'redis-down' in faults && random.chance(0.2)) return ['redis-down'];
  const kinds = (Object.entries(faults) as [FaultKind, number][]).filter(([kind]) => !mild || MILD.has(kind));
  const count = random.pick(mild ? [1, 1, 2, 2, 3] : [0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, kinds.length]);
  const chosen: FaultKind[] = [];
  while (chosen.length < count && kinds.length > 0) {
    let at = random.next() * kinds.reduce((sum, [, most]) => sum + Math.sqrt(most), 0);
    const index = kinds.findIndex(([, most]) => (at -= Math.sqrt(most)) < 0);
    chosen.push(...kinds.splice(index, 1).map(([kind]) => kind));
  }
  return chosen;
}

/** Draws the faults of a kind: several that follow each other, then a pause, and so on. */
function faultsOf(random: Random, kind: FaultKind, most: number, scene: Scene): Timed[] {
  const { processes, scaleMs, endMs, moments, mild } = scene;
  const faults: Timed[] = [];
  if (mild) {
    // Between two of them, everything recovers.
    for (let from = 0; from < endMs; from += 3 * scaleMs) {
      const near = moments.find(({ atMs }) => atMs >= from && atMs < from + scaleMs);
      const p = near !== undefined && random.chance(0.7) ? near.p : random.integer(0, processes - 1);
      const atMs = (near?.atMs ?? from) + (random.chance(0.3) ? 0 : random.magnitude(1, scaleMs));
      faults.push({ atMs, fault: faultOf(random, kind, p, scene) });
    }
    return faults;
  }
  // Some runs have all of them in one process, or of one sort.
  const victim = random.chance(0.4) ? random.integer(0, processes - 1) : undefined;
  const sort = sortOfCuts(random);
  for (let left = random.magnitude(1, most); left > 0;) {
    const near = random.chance(0.7) ? random.pick(moments) : undefined;
    const p = near !== undefined && random.chance(0.7) ? near.p : random.integer(0, processes - 1);
    let atMs = near?.atMs ?? (random.chance(0.3) ? random.integer(0, 100) : random.integer(0, endMs));
    if (random.chance(0.6)) atMs += random.magnitude(1, 3 * scaleMs);
    for (let row = Math.min(left, random.pick([1, 1, 2, 3, 4])); row > 0; row--, left--) {
      const own = victim ?? (random.chance(0.6) ? p : random.integer(0, processes - 1));
      if (atMs <= endMs) faults.push({ atMs, fault: faultOf(random, kind, own, scene, sort) });
      atMs += random.magnitude(Math.max(1, scaleMs / 20), 1.5 * scaleMs);
    }
  }
  return faults;
}

/** Some runs have cuts of one sort only. */
export function sortOfCuts(random: Random): readonly Cut[] {
  return random.pick(CUTS);
}

/** Draws a fault of a kind. @param p the process that it hits, if it hits one */
export function faultOf(
  random: Random,
  kind: FaultKind,
  p: number,
  { scaleMs, mild, isAlone, hasEdges = false }: Pick<Scene, 'scaleMs' | 'mild' | 'isAlone' | 'hasEdges'>,
  sort: readonly Cut[] = ALL_CUTS,
): Fault {
  const time = (): number => {
    if (mild) return random.magnitude(1, scaleMs / 8);
    if (hasEdges && random.chance(0.3)) {
      return Math.max(1, Math.round((random.pick(THIRDS) * scaleMs) / 3) + random.integer(-1, 1));
    }
    if (random.chance(0.7)) return random.magnitude(Math.max(1, scaleMs / 10), 3 * scaleMs);
    return random.magnitude(1, 5_000);
  };
  const master = random.named('master').integer(0, 5);
  switch (kind) {
    case 'kill':
      return { kind, p, downMs: time(), pauses: random.chance(hasEdges ? 0.6 : 0.4) ? random.magnitude(1, 6) : 0 };
    case 'close':
      return { kind, p, downMs: time() };
    case 'stop':
      if (hasEdges && random.chance(0.3)) return { kind, p, forMs: 0, readings: 0, edge: random.pick(EDGES) };
      return { kind, p, forMs: time(), readings: random.chance(0.5) ? random.integer(1, 12) : 0 };
    case 'cut':
      return { kind, p, how: random.pick(sort), lateMs: time(), skip: random.pick(SKIPS) };
    case 'deaf':
      return { kind, p };
    case 'slow':
      return {
        kind,
        p,
        forMs: 2 * time(),
        delayMs: mild ? time() / 8 : random.chance(0.5) ? time() : random.magnitude(5, 200),
      };
    case 'hold':
      // A renewal whose reply comes late, and none after it for about a lease.
      if (mild) return { kind, p, repliesMs: 0, forMs: time() };
      if (hasEdges && random.chance(0.4)) {
        return { kind, p, repliesMs: random.pick([0, 0, 1, 2]), forMs: 0, edge: random.pick(EDGES) };
      }
      return {
        kind,
        p,
        repliesMs: random.pick([
          0,
          random.magnitude(Math.max(1, scaleMs / 20), scaleMs / 3),
          random.magnitude(Math.max(1, scaleMs / 20), scaleMs / 3),
          random.magnitude(Math.max(1, scaleMs / 20), scaleMs),
        ]),
        forMs: random.chance(0.5) ? time() : random.integer(scaleMs / 2, 2 * scaleMs),
      };
    case 'late':
      return { kind, p, requestMs: time(), replyMs: 0 };
    case 'refuse': {
      const isLong = (hasEdges || (mild && isAlone && scaleMs >= LONG_LEASE_MS)) && random.named('long').chance(0.3);
      return {
        kind,
        master,
        error: random.pick(Object.keys(REFUSALS) as Refusal[]),
        count: hasEdges && random.chance(0.5) ? 1 : random.magnitude(1, mild ? 6 : 20),
        // Longer than from one renewal to the next.
        ...(isLong && { forMs: Math.round(0.4 * scaleMs) }),
      };
    }
    case 'flush':
      return { kind, master };
    case 'evict':
      return { kind, onlyWithTtl: random.chance(0.5) };
    case 'stranger':
      return { kind, act: random.pick(MEDDLINGS) };
    case 'redis-clock':
    case 'clock':
      return { kind, p, byMs: time() * (random.chance(0.5) ? 1 : -1) };
    case 'failover':
      return { kind, master, lostMs: time(), downMs: random.magnitude(1, 2_000), part: random.chance(0.4) };
    case 'redis-down':
      // A renewal is repeated soon, so a lease survives an outage of less than half of it.
      return {
        kind,
        master,
        downMs:
          mild && isAlone && scaleMs >= LONG_LEASE_MS && random.chance(0.7)
            ? Math.min(0.42 * scaleMs, (2 / 3) * scaleMs - RECONNECT_MS)
            : time(),
        scripts: random.chance(0.6) ? random.magnitude(1, 8) : 0,
        withinMs: scaleMs,
      };
    case 'drift':
      return { kind, p, percent: MOST_DRIFT * (2 * random.next() - 1) };
    case 'reshard':
      return { kind, forMs: time() };
  }
}
