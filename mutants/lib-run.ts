import type { LibScripts, Mutant } from './lua/scripts';
import { hashOf, survivorOf, type FileResult, type Survivor } from './results';
import type { Coverage, Order, Outcome } from './run/messages';
import { WorkerProcess } from './run/worker-process';

/** Most time for all tests on one mutant, ms. */
const MUTANT_LIMIT_MS = 120_000;
/** A process that is larger than this is started again, MB. */
const MOST_MEGABYTES = 600;
const TEST_LIMIT_MS = 60_000;

/** Runs the tests of a lib on the mutants of its scripts. */
export class LibRun {
  private readonly workers: readonly WorkerProcess[];
  private coverage: readonly Coverage[] = [];
  /** How many mutants a test has killed, by test and file. */
  private readonly kills = new Map<string, number>();

  /** @param real true if the tests run on real servers */
  constructor(
    private readonly scripts: LibScripts,
    workers: number,
    real: boolean,
  ) {
    this.workers = Array.from({ length: workers }, () => new WorkerProcess(scripts.lib, real));
  }

  /** The tests that can be used. */
  get usable(): readonly string[] {
    return this.coverage.map(({ test }) => test);
  }

  stop(): void {
    for (const worker of this.workers) worker.stop();
  }

  /** Runs all tests, but those of `except`, on the unchanged scripts. @returns those that cannot be used */
  async cover(except: readonly string[] = []): Promise<readonly Coverage[]> {
    const [first] = this.workers;
    const listed = (await first?.ask<readonly string[]>({ kind: 'list' }, MUTANT_LIMIT_MS)) ?? [];
    const tests = listed.filter((test) => !except.includes(test));
    const all = await this.share(tests, async (worker, test): Promise<Coverage> => {
      const covered = await worker.ask<Coverage>({ kind: 'cover', test }, TEST_LIMIT_MS);
      return covered ?? { test, virtualMs: 0, realMs: 0, ran: [], failure: 'it did not end in time' };
    });
    this.coverage = all.filter(({ failure }) => failure === undefined);
    return all.filter(({ failure }) => failure !== undefined);
  }

  /** Measures the mutants of one file; with `again` only those that survived then. */
  async measure(path: string, again?: FileResult): Promise<FileResult> {
    const file = this.scripts.files.findIndex((one) => one.path === path);
    const wanted = ({ line, kind, nth }: Pick<Mutant, 'line' | 'kind' | 'nth'>): boolean =>
      again === undefined || again.survivors.some((one) => one.line === line && one.kind === kind && one.nth === nth);
    const all = this.scripts.mutants();
    const mutants = all.flatMap((mutant, index) => (mutant.path === path ? [{ mutant, index }] : []));
    const survivors: Survivor[] = [];
    let timeouts = again?.timeouts ?? 0;
    const chosen = mutants.filter(({ mutant }) => wanted(mutant));
    await this.share(chosen, async (worker, { mutant, index }) => {
      const orders = this.ordersFor(mutant, file);
      const asked = { kind: 'mutant', index, orders } as const;
      const outcome: Outcome =
        orders.length === 0
          ? { megabytes: 0 }
          : ((await worker.ask<Outcome>(asked, MUTANT_LIMIT_MS)) ?? {
              killer: '',
              failure: 'took too long',
              megabytes: 0,
            });
      if (outcome.megabytes > MOST_MEGABYTES) worker.stop();
      if (outcome.killer === undefined)
        survivors.push(survivorOf(mutant, this.scripts, orders.length > 0 || again !== undefined));
      else this.kills.set(outcome.killer + path, (this.kills.get(outcome.killer + path) ?? 0) + 1);
      if (outcome.failure?.includes('took too long')) timeouts++;
    });
    survivors.sort((one, other) => one.line - other.line || one.kind.localeCompare(other.kind) || one.nth - other.nth);
    const hash = hashOf(this.scripts.files[file]?.text ?? '');
    return { hash, mutants: mutants.length, killed: mutants.length - survivors.length, timeouts, survivors };
  }

  /** Returns the tests that run the statement: those that have killed mutants of this file, and short ones, first. */
  private ordersFor({ statement, path }: Mutant, file: number): Order[] {
    const mark = `${file}:${statement}`;
    const cost = ({ test, realMs }: Coverage): number => (realMs + 5) / (1 + 4 * (this.kills.get(test + path) ?? 0));
    return this.coverage
      .filter(({ ran }) => ran.includes(mark) || ran.includes(`${file}:*`))
      .sort((one, other) => cost(one) - cost(other))
      .map(({ test, virtualMs, realMs }) => ({
        test,
        virtualMs: 3 * virtualMs + 15_000,
        realMs: 5 * realMs + 3_000,
      }));
  }

  /** Gives each item to the next worker that is free. */
  private async share<T, R>(items: readonly T[], work: (worker: WorkerProcess, item: T) => Promise<R>): Promise<R[]> {
    const results: R[] = [];
    let next = 0;
    await Promise.all(
      this.workers.map(async (worker) => {
        while (next < items.length) {
          const at = next++;
          results[at] = await work(worker, items[at] as T);
        }
      }),
    );
    return results;
  }
}
