import { faultOf, planOf, sortOfCuts, type Fault, type FaultKind, type Hit, type Plan } from './engine/plan';
import type { Cut } from './engine/network';
import { Random } from './engine/random';
import { World, type Lib, type RanScript } from './engine/world';

const MOST_OPERATIONS = 8;
/** Places for faults that are drawn for a small run. */
const PLACES = 60;
/** Variants of one small run: so many of each sort, so that a minute meets the settings of many runs. */
const MOST_VARIANTS = 8;
/** The first variants have one or two faults, and those from here on have a chain of faults. */
const FIRST_CHAIN = 120;
/** The variants from here on have an app that closes while a call to Redis takes longer, or fails; every other one has refused renewals. */
const FIRST_CLOSE = 240;
/** The variants from here on have one or two late messages. */
const FIRST_LATE = 360;
/** In the variants from here on a call fails, and its repetition meets another fault. */
const FIRST_REPEATED = 480;
/** Cuts after which a call is repeated that Redis has run, or runs later. */
const REPEATED: readonly Cut[] = ['after', 'after', 'late'];
/** How many scripts come before the next fault of a chain. */
const NEXT = [0, 0, 0, 1, 1, 2, 3];

/** A script that a process sends: its n-th, from 1. */
type Place = Pick<Hit, 'p' | 'script'>;

/**
 * A small run, again and again: with a fault at a script that a process sends, with two of them, with a chain of faults that follow
 * each other in one process, or in that which takes over, with an app that closes just when a call fails, with a renewal that fails
 * until the next one, with messages that come late, see `orders`, and with a call that fails and whose repetition meets another fault. The
 * seed draws the run and the order of the faults, and the number of the variant says which of them it has.
 */
export class Variants {
  private readonly small: Plan;
  private readonly hits: readonly Hit[];
  private readonly lates: readonly Hit[];
  /** The small run with an app that closes in a hurry, the scripts of it, and those that renew a lease. */
  private readonly hurried: {
    readonly plan: Plan;
    readonly all: readonly Place[];
    readonly renewals: readonly Place[];
  };

  constructor(
    private readonly lib: Lib,
    readonly seed: number,
    private readonly without: ReadonlySet<string> = new Set(),
  ) {
    this.small = smallPlan(lib, seed, MOST_OPERATIONS, without);
    const random = new Random(seed, 'hits');
    const world = this.worldOf(this.small);
    const situations = this.faultsOf(0).length === 0 ? new Map<string, Place[]>() : world.situations;
    this.lates = without.has('late') ? [] : latesOf(world.ran, this.small.client.deadlineMs / 2);
    const places = this.placesOf(random, situations);
    this.hits = Array.from({ length: situations.size === 0 ? 0 : PLACES }, () => {
      const place = places();
      return { ...place, fault: random.pick(this.faultsOf(place.p)) };
    });
    this.hurried = this.hurriedRun();
  }

  /** Numbers of the variants, in the order in which they run: one of each sort in turn. */
  get numbers(): number[] {
    const firsts = [
      ...[0, FIRST_CHAIN, FIRST_REPEATED],
      ...(this.lib.scripts === undefined ? [] : [FIRST_REPEATED + MOST_VARIANTS]),
      ...(this.hurried.all.length > 0 ? [FIRST_CLOSE] : []),
      ...(this.lates.length > 0 ? [FIRST_LATE] : []),
    ];
    return this.hits.slice(0, MOST_VARIANTS).flatMap((_, number) => firsts.map((first) => first + number));
  }

  /** @param number one of `numbers` */
  plan(number: number): Plan {
    const { hits, small } = this;
    const random = new Random(this.seed, `variant ${number}`);
    if (number >= FIRST_REPEATED) {
      const scaleMs = this.lib.scaleMs(small.settings as never);
      // ioredis must not repeat the call itself.
      const client = { ...small.client, resends: false };
      const elements = [...small.elements, ...this.repeated(random)];
      return { ...small, client, endMs: small.endMs + 3 * scaleMs, elements };
    }
    if (number >= FIRST_LATE) {
      const some = [random.pick(this.lates), ...(number % 2 === 1 ? [random.pick(this.lates)] : [])];
      return { ...small, elements: [...small.elements, ...some] };
    }
    if (number >= FIRST_CLOSE) {
      const { plan, renewals } = this.hurried;
      const hits = number % 2 === 1 && renewals.length > 0 ? this.refusing(random) : this.closing(random);
      return { ...plan, elements: [...plan.elements, ...hits] };
    }
    if (number >= FIRST_CHAIN) {
      const scaleMs = this.lib.scaleMs(small.settings as never);
      // What takes over does so after a lease.
      return { ...small, endMs: small.endMs + 3 * scaleMs, elements: [...small.elements, ...this.chain(random)] };
    }
    const some = number % 2 === 1 ? [random.pick(hits), random.pick(hits)] : [hits[number] as Hit];
    return { ...small, elements: [...small.elements, ...some] };
  }

  /** Refuses a renewal, and what comes after it until the next one is due. */
  private refusing(random: Random): Hit[] {
    if (this.without.has('refuse')) return [];
    const scaleMs = this.lib.scaleMs(this.hurried.plan.settings as never);
    const forMs = Math.round(scaleMs * (0.35 + 0.1 * random.next()));
    const fault: Fault = { kind: 'refuse', master: 0, error: 'LOADING', count: 0, forMs };
    return [{ ...random.pick(this.hurried.renewals), fault }];
  }

  /** Draws a close, and what makes a call of that time slow or fail. */
  private closing(random: Random): Hit[] {
    const { p, script } = random.pick(this.hurried.all);
    const ms = random.magnitude(30, 500);
    const faults: readonly Fault[] = [
      { kind: 'cut', p, how: random.pick(['before', 'after'] as const), lateMs: 0, skip: 0 },
      { kind: 'hold', p, repliesMs: ms, forMs: 0 },
      { kind: 'redis-down', master: 0, downMs: ms, scripts: 0, withinMs: 0 },
      { kind: 'refuse', master: 0, error: 'LOADING', count: 0, forMs: ms },
    ];
    const some = faults.filter(({ kind }) => kind in this.lib.faults && !this.without.has(kind));
    const close: Fault = { kind: 'close', p, downMs: random.magnitude(1, 1_000) };
    if (some.length === 0 || this.without.has('close')) return [];
    return [
      { p, script, fault: random.pick(some) },
      { p, script: script + random.pick([0, 0, 0, 1]), fault: close },
    ];
  }

  /** Draws a fault that makes a call fail, and what its repetition meets. */
  private repeated(random: Random): Hit[] {
    const { p, script } = random.pick(this.hits);
    const known = (kinds: readonly FaultKind[]): FaultKind[] =>
      kinds.filter((kind) => kind in this.lib.faults && !this.without.has(kind));
    const [firsts, seconds] = [
      known(['cut', 'cut', 'hold']),
      known(['refuse', 'refuse', 'cut', 'hold', 'stop', 'kill', 'close']),
    ];
    if (firsts.length === 0) return [];
    const scaleMs = this.lib.scaleMs(this.small.settings as never);
    const [fault, next] = [random.pick(firsts), random.pick(seconds)].map((kind): Fault => {
      const drawn = faultOf(random, kind, p, { scaleMs, mild: false, isAlone: false, hasEdges: true }, REPEATED);
      if (drawn.kind === 'refuse') return { ...drawn, count: 1 };
      return drawn.kind === 'cut' ? { ...drawn, skip: 0 } : drawn;
    }) as [Fault, Fault];
    return [{ p, script, fault, next: { skip: 0, own: true, fault: next } }];
  }

  /** Draws a chain of faults, mostly of kinds that meet in the promises of the lib. */
  private chain(random: Random): Hit[] {
    const { p, script: first } = random.pick(this.hits);
    const row = random.pick([...this.lib.together, ...(this.lib.chains ?? [])]);
    const kinds = row.length === 1 && random.chance(0.5) ? [...row, ...row] : row;
    const scaleMs = this.lib.scaleMs(this.small.settings as never);
    const sort = sortOfCuts(random);
    const hits: Hit[] = [];
    for (const kind of kinds) {
      if (this.without.has(kind)) continue;
      const drawn = faultOf(random, kind, p, { scaleMs, mild: false, isAlone: false, hasEdges: true }, sort);
      const fault = drawn.kind === 'cut' ? { ...drawn, skip: 0 } : drawn;
      const before = hits.at(-1);
      // The next fault meets the same process, also when it repeats the call, or the one that takes over.
      if (before === undefined || before.next !== undefined || random.chance(0.6)) {
        hits.push({ p, script: first + random.pick(NEXT), fault });
      } else {
        const own = random.named(`own ${hits.length}`).chance(0.4);
        hits.splice(-1, 1, { ...before, next: { skip: random.pick(NEXT), own, fault } });
      }
    }
    return hits;
  }

  private hurriedRun(): Variants['hurried'] {
    const plan = { ...this.small, settings: { ...(this.small.settings as object), ...this.lib.hurried } };
    if (this.lib.hurried === undefined) return { plan, all: [], renewals: [] };
    const { situations } = this.worldOf(plan);
    const random = new Random(this.seed, 'hurried');
    const all = Array.from({ length: situations.size === 0 ? 0 : PLACES }, this.placesOf(random, situations));
    const renewals = [...situations].flatMap(([name, places]) => (/^[^ ]*renew[^ ]* /.test(name) ? places : []));
    return { plan: { ...plan, endMs: plan.endMs + this.lib.scaleMs(plan.settings as never) }, all, renewals };
  }

  /**
   * Returns what draws a script of a run. A script that is sent all the time, and finds nothing to do, is one situation, and so is the one
   * that did something.
   */
  private placesOf(random: Random, situations: ReadonlyMap<string, readonly Place[]>): () => Place {
    const all = [...situations.values()];
    const own = [...situations].flatMap(([name, places]) => (this.lib.scripts?.test(name) ? [places] : []));
    const half = random.named('own');
    return () => random.pick(random.pick(own.length > 0 && half.chance(0.5) ? own : all));
  }

  private worldOf(plan: Plan): World {
    const world = new World(this.lib, plan);
    world.run();
    return world;
  }

  private faultsOf(p: number): readonly Fault[] {
    const scaleMs = this.lib.scaleMs(this.small.settings as never);
    const longMs = Math.round(1.5 * scaleMs);
    const faults: readonly Fault[] = [
      { kind: 'cut', p, how: 'before', lateMs: 0, skip: 0 },
      { kind: 'cut', p, how: 'after', lateMs: 0, skip: 0 },
      { kind: 'cut', p, how: 'late', lateMs: longMs, skip: 0 },
      { kind: 'kill', p, downMs: 10, pauses: 0 },
      { kind: 'close', p, downMs: 10 },
      { kind: 'stop', p, forMs: longMs, readings: 0 },
      { kind: 'stop', p, forMs: longMs, readings: 1 },
      { kind: 'hold', p, repliesMs: 0, forMs: longMs },
      { kind: 'hold', p, repliesMs: Math.round(scaleMs / 4), forMs: scaleMs },
      { kind: 'refuse', master: 0, error: 'OOM', count: 1 },
      // Longer than from one renewal to the next.
      { kind: 'refuse', master: 0, error: 'BUSY', count: 0, forMs: Math.round(0.4 * scaleMs) },
      { kind: 'flush', master: 0 },
      { kind: 'failover', master: 0, lostMs: 1, downMs: 50, part: false },
      { kind: 'failover', master: 0, lostMs: scaleMs, downMs: 50, part: false },
      { kind: 'failover', master: 0, lostMs: 1, downMs: 50, part: true },
      { kind: 'redis-down', master: 0, downMs: longMs, scripts: 1, withinMs: scaleMs },
    ];
    return faults.filter(({ kind }) => kind in this.lib.faults && !this.without.has(kind satisfies FaultKind));
  }
}

/** Returns a run of a few operations that come soon after each other, and no faults. */
export function smallPlan(lib: Lib, seed: number, operations: number, without: ReadonlySet<string> = new Set()): Plan {
  const plan = planOf(lib, seed, without);
  const scaleMs = lib.scaleMs(plan.settings as never);
  const all = plan.elements.filter((element) => 'operation' in element).slice(0, operations);
  let [beforeMs, atMs] = [0, 100];
  const elements = all.map((operation) => {
    atMs += Math.min(operation.atMs - beforeMs, scaleMs);
    beforeMs = operation.atMs;
    return { ...operation, atMs };
  });
  const roundMs = lib.roundMs?.(plan.settings as never) ?? scaleMs;
  return { ...plan, mild: false, endMs: atMs + 2 * roundMs, elements };
}

/**
 * Returns the messages that may come late: each request, or reply, and each script of another process after which it may come.
 *
 * @param windowMs longest delay
 * @param last only messages that are sent after this one, so that no two late messages are tried in both orders
 */
export function latesOf(ran: readonly RanScript[], windowMs: number, last?: Hit): Hit[] {
  const before = ran.find(({ p, script }) => p === last?.p && script === last.script);
  return ran.flatMap((one, at) => {
    if (before !== undefined && one.sentUs <= before.sentUs) return [];
    const { p, script, keys, ranUs } = one;
    const later = ran.slice(at + 1).filter((other) => other.ranUs - ranUs <= windowMs * 1_000);
    const others = later.filter((other) => other.p !== p && other.keys.some((key) => keys.includes(key)));
    return others.flatMap((other): Hit[] => {
      const lateMs = (other.ranUs - ranUs + 1) / 1_000;
      return [
        { p, script, fault: { kind: 'late', p, requestMs: lateMs, replyMs: 0 } },
        { p, script, fault: { kind: 'late', p, requestMs: 0, replyMs: lateMs } },
      ];
    });
  });
}
