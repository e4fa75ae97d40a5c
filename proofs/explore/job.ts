import { Search, type SearchOptions } from './engine/search';
import { groupsOf } from './engine/groups';
import { replay, type Replay } from './engine/replay';
import type { Actors, Protocol } from './engine/protocol';
import { ClockedRedis } from './real/clocked-redis';
import { Comparison } from './real/compare';

/** Result of the exploration of one scenario. */
export interface JobResult {
  readonly protocol: string;
  readonly scenario: string;
  readonly states: number;
  readonly moves: number;
  readonly depth: number;
  readonly complete: boolean;
  readonly ends: number;
  /** Groups of calls that were compared with the same calls alone. */
  readonly groups: number;
  readonly seconds: number;
  /** States that were compared with a real Redis, with all replies on the way to them and those of groups; 0 unless on Linux. */
  readonly compared: number;
  readonly violations: readonly CounterExample[];
}

/** A violation, and the way to it. `replay` reads this. */
export interface CounterExample {
  readonly protocol: string;
  readonly scenario: string;
  readonly problem: string;
  readonly moves: readonly string[];
  /** Result of the same way on a real Redis. */
  readonly onRedis: string;
}

export const SAME_ON_REDIS = 'the same replies and keys';
/** LD_PRELOAD, by which the explorer sets the time of a real server, is Linux' own. */
const NOT_COMPARED = 'not compared, because the time of redis-server can be set on Linux only';

/** Explores a scenario. On Linux, compares the counter-example and a part of the states with a real Redis. */
export async function explore(protocol: Protocol, options: Omit<SearchOptions, 'sample'>): Promise<JobResult> {
  const started = performance.now();
  const sampled: (readonly number[])[] = [];
  const { violation, ...found } = new Search(protocol).run({ ...options, sample: (path) => sampled.push(path) });
  const { name, scenario } = protocol;
  const violations: CounterExample[] = [];
  const redis = process.platform === 'linux' ? await ClockedRedis.start() : undefined;
  try {
    const comparison = redis && new Comparison(redis);
    if (violation !== undefined) {
      const { moves } = replay(protocol, violation.path);
      const onRedis = await resultOn(comparison, replay(protocol, violation.path));
      violations.push({ protocol: name, scenario, problem: violation.problem, moves, onRedis });
    }
    let compared = 0;
    for (const path of comparison === undefined ? [] : sampled) {
      const way = replay(protocol, path);
      for (const calls of groupsOf(protocol, way.state, way.world)) way.world.group(calls);
      const difference = await comparison?.difference(way);
      compared++;
      if (difference === undefined) continue;
      const problem = 'The in-memory server and Redis differ.';
      violations.push({ protocol: name, scenario, problem, moves: way.moves, onRedis: difference });
      break;
    }
    const seconds = (performance.now() - started) / 1000;
    return { protocol: name, scenario, ...found, seconds, compared, violations };
  } finally {
    redis?.stop();
  }
}

/** Goes the way of a counter-example again, on Linux also on a real Redis. @returns lines to print */
export async function replayed(protocol: Protocol, { moves, problem }: CounterExample): Promise<string[]> {
  const way = replay(protocol, moves);
  const redis = process.platform === 'linux' ? await ClockedRedis.start() : undefined;
  try {
    const onRedis = await resultOn(redis && new Comparison(redis), way);
    const broken = protocol.invariants
      .map((one) => one.broken(way.state, way.world))
      .find((found) => found !== undefined);
    return [
      `${protocol.name}, ${protocol.scenario}`,
      ...moves.map((move, index) => `${String(index + 1).padStart(3)}. ${move}`),
      `Expected: ${problem}`,
      `Found: ${way.state.wrong ?? broken ?? 'nothing in this state. It may show when the actors are left alone, or only on a real Redis.'}`,
      `On a real Redis: ${onRedis}`,
    ];
  } finally {
    redis?.stop();
  }
}

async function resultOn<State extends Actors>(comparison: Comparison | undefined, way: Replay<State>): Promise<string> {
  return comparison === undefined ? NOT_COMPARED : ((await comparison.difference(way)) ?? SAME_ON_REDIS);
}
