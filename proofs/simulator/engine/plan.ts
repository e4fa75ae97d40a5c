import type { Cut } from './network';
import { Random } from './random';
import { REFUSALS, type Refusal } from './redis-host';

/** A fault. Times in ms; `p` is the index of a process. */
export type Fault =
  | { readonly kind: 'kill'; readonly p: number; readonly downMs: number }
  | { readonly kind: 'close'; readonly p: number; readonly downMs: number }
  | { readonly kind: 'stop'; readonly p: number; readonly forMs: number; readonly readings: number }
  | { readonly kind: 'cut'; readonly p: number; readonly how: Cut; readonly lateMs: number }
  | { readonly kind: 'deaf'; readonly p: number }
  | { readonly kind: 'slow'; readonly p: number; readonly forMs: number; readonly delayMs: number }
  | { readonly kind: 'hold'; readonly p: number; readonly forMs: number }
  | { readonly kind: 'refuse'; readonly error: Refusal; readonly count: number }
  | { readonly kind: 'flush' }
  | { readonly kind: 'evict'; readonly onlyWithTtl: boolean }
  | { readonly kind: 'redis-clock'; readonly byMs: number }
  | { readonly kind: 'clock'; readonly p: number; readonly byMs: number }
  | { readonly kind: 'failover'; readonly lostMs: number; readonly downMs: number }
  | { readonly kind: 'redis-down'; readonly downMs: number };
export type FaultKind = Fault['kind'];

/** Something that happens to a run from outside: a fault, or an operation of a user in a process. */
export type Element<Operation = unknown> =
  | { readonly atMs: number; readonly fault: Fault }
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
  readonly client: ClientSettings;
  readonly settings: unknown;
  /** Faults and operations end at this time. */
  readonly endMs: number;
  readonly elements: readonly Element[];
}

/** Describes the runs of a lib. */
export interface Planner {
  readonly name: string;
  /** Faults that its README speaks of, and how many of each a run has at most. */
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>;
  /** Draws the options of the lib, and how its users behave. */
  settings(random: Random): unknown;
  operation(random: Random, settings: never): unknown;
  /** Time that decides most here, such as the length of a lease, ms. Faults take about as long. */
  scaleMs(settings: never): number;
}

/** Draws a run. Which faults are on, and how many of each, is drawn too: a run with few kinds goes deeper than one with all. */
export function planOf(planner: Planner, seed: number, without: ReadonlySet<string> = new Set()): Plan {
  const random = new Random(seed, planner.name);
  const processes = random.pick([1, 2, 2, 3, 3, 4]);
  const settings = planner.settings(random);
  const scaleMs = planner.scaleMs(settings as never);
  const endMs = Math.max(500, scaleMs * random.magnitude(3, 30));
  const client: ClientSettings = {
    resends: random.chance(0.7),
    protocol: random.chance(0.5) ? 3 : 2,
    grouping: random.chance(0.8),
    deadlineMs: random.magnitude(300, 5_000),
  };
  const elements: Element[] = [];
  const operations = random.magnitude(5, 150);
  // Operations come in bursts, so that processes meet.
  for (let left = operations; left > 0;) {
    const burst = Math.min(left, random.magnitude(1, 12));
    const atMs = random.integer(0, endMs);
    const spreadMs = random.magnitude(1, scaleMs);
    for (let index = 0; index < burst; index++, left--) {
      const p = random.integer(0, processes - 1);
      elements.push({
        atMs: atMs + random.integer(0, spreadMs),
        p,
        operation: planner.operation(random, settings as never),
      });
    }
  }
  const calm = random.chance(0.1);
  for (const [kind, most] of Object.entries(planner.faults) as [FaultKind, number][]) {
    const isOn = random.chance(0.4) && !calm;
    const count = random.magnitude(1, most);
    const own = random.named(kind);
    for (let index = 0; isOn && !without.has(kind) && index < count; index++) {
      elements.push({ atMs: own.integer(0, endMs), fault: faultOf(own, kind, processes, scaleMs) });
    }
  }
  elements.sort((a, b) => a.atMs - b.atMs);
  return { seed, lib: planner.name, processes, client, settings, endMs, elements };
}

function faultOf(random: Random, kind: FaultKind, processes: number, scaleMs: number): Fault {
  const p = random.integer(0, processes - 1);
  const time = (): number =>
    random.chance(0.7) ? random.magnitude(Math.max(1, scaleMs / 10), 3 * scaleMs) : random.magnitude(1, 5_000);
  switch (kind) {
    case 'kill':
    case 'close':
      return { kind, p, downMs: time() };
    case 'stop':
      return { kind, p, forMs: time(), readings: random.chance(0.5) ? random.integer(1, 12) : 0 };
    case 'cut':
      return { kind, p, how: random.pick(['before', 'after', 'late']), lateMs: time() };
    case 'deaf':
      return { kind, p };
    case 'slow':
      return { kind, p, forMs: 2 * time(), delayMs: time() };
    case 'hold':
      return { kind, p, forMs: time() };
    case 'refuse':
      return { kind, error: random.pick(Object.keys(REFUSALS) as Refusal[]), count: random.magnitude(1, 20) };
    case 'flush':
      return { kind };
    case 'evict':
      return { kind, onlyWithTtl: random.chance(0.5) };
    case 'redis-clock':
    case 'clock':
      return { kind, p, byMs: time() * (random.chance(0.5) ? 1 : -1) };
    case 'failover':
      return { kind, lostMs: time(), downMs: random.magnitude(1, 2_000) };
    case 'redis-down':
      return { kind, downMs: time() };
  }
}
