import { planOf, type Element, type Fault, type FaultKind, type Plan } from './engine/plan';
import { Random } from './engine/random';
import { World, type Lib } from './engine/world';

const MOST_OPERATIONS = 8;
/** Scripts of each process at which faults happen: its first ones. */
const MOST_SCRIPTS = 20;
/** Variants of one small run: so many are drawn of all, so that a minute has many small runs. */
const MOST_VARIANTS = 120;

/** A fault at one script of a process. */
type Hit = Extract<Element, { script: number }>;

/**
 * A small run, again and again: with a fault at a script that a process sends, and with two of them, in turn. The seed draws the run and the
 * order of the faults, and the number of the variant says which of them it has.
 */
export class Variants {
  private readonly small: Plan;
  private readonly hits: readonly Hit[];

  constructor(
    private readonly lib: Lib,
    readonly seed: number,
    private readonly without: ReadonlySet<string> = new Set(),
  ) {
    this.small = this.smallPlan();
    const world = new World(lib, this.small);
    world.run();
    const hits = Array.from({ length: this.small.processes }, (_, p) => this.hitsOf(p, world.scriptsSent[p] ?? 0));
    const random = new Random(seed, 'hits');
    this.hits = hits
      .flat()
      .map((hit) => ({ hit, order: random.next() }))
      .sort((a, b) => a.order - b.order)
      .map(({ hit }) => hit);
  }

  get count(): number {
    return this.hits.length < 2 ? this.hits.length : Math.min(2 * this.hits.length, MOST_VARIANTS);
  }

  /** @param number from 0 to `count` (exclusive) */
  plan(number: number): Plan {
    const { hits, small } = this;
    const random = new Random(this.seed, `variant ${number}`);
    const isPair = hits.length > 1 && number % 2 === 1;
    const some = isPair ? [random.pick(hits), random.pick(hits)] : [hits[hits.length > 1 ? number / 2 : number] as Hit];
    return { ...small, elements: [...small.elements, ...some] };
  }

  /** Operations that come soon after each other, and no faults. */
  private smallPlan(): Plan {
    const plan = planOf(this.lib, this.seed, this.without);
    const scaleMs = this.lib.scaleMs(plan.settings as never);
    const all = plan.elements.filter((element) => 'operation' in element).slice(0, MOST_OPERATIONS);
    let [beforeMs, atMs] = [0, 100];
    const elements = all.map((operation) => {
      atMs += Math.min(operation.atMs - beforeMs, scaleMs);
      beforeMs = operation.atMs;
      return { ...operation, atMs };
    });
    const roundMs = this.lib.roundMs?.(plan.settings as never) ?? scaleMs;
    return { ...plan, mild: false, endMs: atMs + 2 * roundMs, elements };
  }

  private hitsOf(p: number, scripts: number): Hit[] {
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
      { kind: 'flush', master: 0 },
      { kind: 'failover', master: 0, lostMs: 1, downMs: 50, part: false },
      { kind: 'failover', master: 0, lostMs: 1, downMs: 50, part: true },
      { kind: 'redis-down', master: 0, downMs: longMs, scripts: 1, withinMs: scaleMs },
    ];
    const kinds = faults.filter(({ kind }) => kind in this.lib.faults && !this.without.has(kind satisfies FaultKind));
    return Array.from({ length: Math.min(scripts, MOST_SCRIPTS) }, (_, index) =>
      kinds.map((fault) => ({ p, script: index + 1, fault })),
    ).flat();
  }
}
