import { existsSync, readFileSync } from 'node:fs';
import type { WatchedCommand } from '../../../test/support/command-watcher';
import type { Span } from '../../../test/support/takeovers';

/** Records that one process wrote about itself. All times are ms since 1970. */
export interface NodeRecord {
  readonly name: string;
  readonly readyAt: number;
  /** When the process was killed or asked to close; Infinity if neither happened. */
  endedAt: number;
  readonly killed: boolean;
  readonly stops: readonly Span[];
  readonly stalls: Span[];
  readonly fires: { readonly job: string; readonly id: number; readonly at: number }[];
  readonly outcomes: {
    readonly job: string;
    readonly id: number;
    readonly status: string;
    readonly slot: number;
    readonly at: number;
  }[];
  readonly runs: { readonly job: string; readonly slot: number; readonly at: number }[];
}

/** Claim that Redis granted: a run of a job has its slot from `since` on, and the lock until `endedAt`. */
export interface ClaimRecord {
  readonly job: string;
  readonly node: string;
  readonly slot: number;
  readonly since: number;
  /** When it was completed, by Redis' own log. */
  endedAt: number | undefined;
}

/** Fault that the test caused in a process. */
export interface Faults {
  readonly killedAt: number | undefined;
  readonly stops: readonly Span[];
}

type Entry = readonly [at: number, what: string, ...rest: unknown[]];

/** @param file where the process wrote */
export function readNode(name: string, file: string, { killedAt, stops }: Faults): NodeRecord {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  const entries = lines.filter((line) => line.endsWith(']')).map((line) => JSON.parse(line) as Entry);
  const at = (what: string): number | undefined => entries.find((entry) => entry[1] === what)?.[0];
  const all = <T>(what: string, of: (at: number, rest: unknown[]) => T): T[] =>
    entries.filter((entry) => entry[1] === what).map(([time, , ...rest]) => of(time, rest));
  return {
    name,
    readyAt: at('ready') ?? Infinity,
    endedAt: killedAt ?? at('closing') ?? Infinity,
    killed: killedAt !== undefined,
    stops,
    stalls: all('stall', (_, [from, to]) => [from as number, to as number]),
    fires: all('fire', (time, [job, id]) => ({ at: time, job: job as string, id: id as number })),
    outcomes: all('status', (time, [job, id, status, slot]) => ({
      at: time,
      job: job as string,
      id: id as number,
      status: status as string,
      slot: slot as number,
    })),
    runs: all('run', (time, [job, slot]) => ({ at: time, job: job as string, slot: slot as number })),
  };
}

/** Reads from the commands of the scripts who claimed what. */
export function readClaims(commands: readonly WatchedCommand[]): ClaimRecord[] {
  const claims: ClaimRecord[] = [];
  const open = new Map<string, ClaimRecord>();
  for (const { from, args, atMs } of commands) {
    const [command = '', key = '', ...fields] = args;
    const job = /\{default:(\w+)\}:state$/.exec(key)?.[1];
    if (from !== 'lua' || !/^hset$/i.test(command) || job === undefined) continue;
    const of = (name: string): string | undefined => {
      const i = fields.indexOf(name);
      return i < 0 ? undefined : fields[i + 1];
    };
    const owner = of('owner');
    if (owner !== undefined) {
      const claim = { job, node: owner.split('#')[0] ?? '', slot: Number(of('slot')), since: Number(of('since')) };
      open.set(job, { ...claim, endedAt: undefined });
      claims.push(open.get(job) as ClaimRecord);
    } else if (of('done') === '1') {
      const claim = open.get(job);
      if (claim) claim.endedAt = atMs;
    }
  }
  return claims;
}
