import type { Snapshot } from '../../../libs/memory-redis/src/memory-redis';
import { digestOf } from './digest';
import { make, movesOf } from './environment';
import { copyOf } from './frozen';
import { groupDifference, groupsOf } from './groups';
import type { Actors, Protocol } from './protocol';
import { whyUnsettled } from './settling';
import { World } from './world';

export interface SearchOptions {
  /** Most moves from the begin. Default: the protocol's. */
  readonly depth?: number;
  /** Longest time, s. */
  readonly seconds?: number;
  /** Most states. */
  readonly states?: number;
  /** Called with the moves to a state, for a part of the states and the last one. */
  readonly sample?: (path: readonly number[]) => void;
}

export interface Violation {
  readonly problem: string;
  /** Index of each move, from the begin. */
  readonly path: readonly number[];
}

export interface Found {
  readonly states: number;
  readonly moves: number;
  /** All states up to so many moves from the begin were found. */
  readonly depth: number;
  /** States at which the actors were left alone, to see that all settles. */
  readonly ends: number;
  /** Groups of calls that were compared with the same calls alone. */
  readonly groups: number;
  readonly seconds: number;
  /** True if no state was left out, except for the bound of the depth. */
  readonly complete: boolean;
  /** The first one found. If a state broke an invariant, no state with fewer moves does. */
  readonly violation: Violation | undefined;
}

interface Frame<State> {
  readonly node: number;
  readonly snapshot: Snapshot;
  readonly nowMs: number;
  readonly state: State;
}

/** States whose digest begins so are given to `sample`: one of 64. */
const SAMPLED = 'A';

/** Visits the states of a protocol in the order of their distance from the begin, each once. */
export class Search<State extends Actors> {
  private readonly world: World;
  private readonly known = new Set<string>();
  private readonly parents: number[] = [];
  private readonly choices: number[] = [];
  private readonly depths: number[] = [];
  private readonly frames: Frame<State>[] = [];
  private moves = 0;
  private ends = 0;
  private groups = 0;
  private violation: Violation | undefined;
  /** The first violation on the way of actors that were left alone. Only reported if the search finds no other. */
  private later: Violation | undefined;

  constructor(private readonly protocol: Protocol<State>) {
    this.world = new World(protocol.replaced);
  }

  run({ depth = this.protocol.depth, seconds = Infinity, states = Infinity, sample }: SearchOptions = {}): Found {
    const started = performance.now();
    const root = this.protocol.begin(this.world);
    this.add(-1, 0, digestOf(this.world.db, root));
    this.pushFrame(0, root);
    this.check(root, 0);
    let node = 0;
    for (; node < this.parents.length && this.violation === undefined; node++) {
      if (this.parents.length >= states || ((node & 63) === 0 && performance.now() - started > seconds * 1000)) break;
      this.expand(node, depth, sample);
    }
    sample?.(this.pathTo(this.parents.length - 1));
    return {
      states: this.parents.length,
      moves: this.moves,
      depth: (node < this.depths.length ? this.depths[node] : this.depths.at(-1)) ?? 0,
      ends: this.ends,
      groups: this.groups,
      seconds: (performance.now() - started) / 1000,
      complete: node === this.parents.length,
      violation: this.violation ?? this.later,
    };
  }

  /** Returns the choices that lead to a node. */
  private pathTo(node: number): number[] {
    const path: number[] = [];
    for (let at = node; at > 0; at = this.parents[at] as number) path.push(this.choices[at] as number);
    return path.reverse();
  }

  private expand(node: number, depth: number, sample: SearchOptions['sample']): void {
    const frame = this.goTo(node);
    const { protocol, world } = this;
    const moves = (this.depths[node] as number) >= depth ? [] : movesOf(protocol, frame.state, world);
    for (let choice = 0; choice < moves.length; choice++) {
      const state = copyOf(frame.state);
      this.moves++;
      make(protocol, moves[choice] as (typeof moves)[number], state, world);
      const digest = digestOf(world.db, state);
      if (!this.known.has(digest)) {
        const found = this.add(node, choice, digest);
        this.check(state, found);
        if (sample !== undefined && digest.startsWith(SAMPLED)) sample(this.pathTo(found));
      }
      this.back(frame);
      if (this.violation !== undefined) return;
    }
    if ((node & 7) === 0) this.compareGroups(frame);
    if (moves.length > 0 && (node & 31) !== 0) return;
    this.ends++;
    const found = whyUnsettled(protocol, copyOf(frame.state), world);
    if (found?.isStuck === true) this.report(found.problem, node);
    else if (found !== undefined) this.later ??= { problem: found.problem, path: this.pathTo(node) };
    this.back(frame);
  }

  private compareGroups(frame: Frame<State>): void {
    for (const group of groupsOf(this.protocol, frame.state, this.world)) {
      this.groups++;
      const problem = groupDifference(group, this.world, () => this.back(frame));
      if (problem !== undefined) this.report(problem, frame.node);
    }
  }

  private check(state: State, node: number): void {
    if (state.wrong !== undefined) return this.report(state.wrong, node);
    for (const { words, broken } of this.protocol.invariants) {
      const problem = broken(state, this.world);
      if (problem !== undefined) return this.report(`${words} Broken: ${problem}`, node);
    }
  }

  private report(problem: string, node: number): void {
    this.violation ??= { problem, path: this.pathTo(node) };
  }

  private add(parent: number, choice: number, digest: string): number {
    this.known.add(digest);
    this.parents.push(parent);
    this.choices.push(choice);
    this.depths.push(parent < 0 ? 0 : (this.depths[parent] as number) + 1);
    return this.parents.length - 1;
  }

  /** Brings the world to the state of a node: back to the nearest state of the last path, and on from there. */
  private goTo(node: number): Frame<State> {
    const missing: number[] = [];
    let depth = this.depths[node] as number;
    let at = node;
    while (this.frames[depth]?.node !== at) {
      missing.push(at);
      at = this.parents[at] as number;
      depth--;
    }
    this.frames.length = depth + 1;
    let frame = this.frames[depth] as Frame<State>;
    this.back(frame);
    for (const next of missing.reverse()) {
      const state = copyOf(frame.state);
      const move = movesOf(this.protocol, frame.state, this.world)[this.choices[next] as number];
      if (move === undefined)
        throw new Error('A move that led to a state is missing: the protocol is not deterministic.');
      make(this.protocol, move, state, this.world);
      frame = this.pushFrame(next, state);
    }
    return frame;
  }

  private pushFrame(node: number, state: State): Frame<State> {
    const frame = { node, snapshot: this.world.redis.snapshot(), nowMs: this.world.nowMs, state };
    this.frames.push(frame);
    return frame;
  }

  private back({ snapshot, nowMs }: Frame<State>): void {
    this.world.redis.restore(snapshot);
    this.world.clock.set(nowMs);
  }
}
