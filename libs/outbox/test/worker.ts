import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { quiet } from '../../script-registry/test/support';
import { openBench, pgDatabase } from './support';

/** Steps of a round at which a relay can die: before or after each of them. */
export const STEPS = ['lock', 'mark', 'send', 'settle', 'commit'] as const;

/** Job that the parent process sends to a relay. */
export interface RelayJob {
  readonly url: string;
  readonly port: number;
  readonly prefix: string;
  readonly table: string;
  /** The process kills or stops itself in the n-th step of this name, before it begins or after it has ended. Undefined: never. */
  readonly dies?: {
    readonly step: (typeof STEPS)[number];
    readonly when: 'before' | 'after';
    readonly nth: number;
    readonly signal: 'SIGKILL' | 'SIGSTOP';
  };
}

/** Statements by which the steps of the relay are known. */
const OF: readonly [(typeof STEPS)[number], RegExp][] = [
  ['lock', /pg_try_advisory/],
  ['mark', /WITH batch/],
  ['settle', /^DELETE FROM/],
];

async function main({ url, port, prefix, table, dies }: RelayJob): Promise<void> {
  const counts = new Map<string, number>();
  const at = async <T>(step: (typeof STEPS)[number], work: () => Promise<T>): Promise<T> => {
    const nth = (counts.get(step) ?? 0) + 1;
    counts.set(step, nth);
    const mine = dies?.step === step && dies.nth === nth;
    // After SIGKILL, nothing of this process runs; after SIGSTOP, nothing until SIGCONT.
    if (mine && dies.when === 'before') process.kill(process.pid, dies.signal);
    const result = await work();
    if (mine && dies.when === 'after') process.kill(process.pid, dies.signal);
    return result;
  };
  const pool = new Pool({ connectionString: url });
  pool.on('error', () => undefined);
  // COMMIT is a statement of the pool's connections like the others.
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
    client.query = ((sql: string, ...rest: unknown[]) => {
      const call = (): Promise<unknown> => query(sql, ...rest);
      if (sql === 'COMMIT') return at('commit', call);
      const step = OF.find(([, pattern]) => pattern.test(sql))?.[0];
      return step === undefined ? call() : at(step, call);
    }) as never;
  });
  const client = quiet(new Redis(port, { maxRetriesPerRequest: null }));
  const bench = await openBench({ pool, client, prefix, table, pollMs: 10, batch: 7, database: pgDatabase(pool) });
  const run = bench.registry.run.bind(bench.registry);
  bench.registry.run = ((...args: Parameters<typeof run>) => at('send', () => run(...args))) as never;
  bench.outbox.onApplicationBootstrap();
  process.send?.('ready');
}

process.once('message', (job) => void main(job as RelayJob));
process.once('disconnect', () => process.exit(1));
