import { hashOf, sorted, type FileResult, type Survivor } from '../results';
import type { Coverage, Order, Outcome, TestFiles } from '../run/messages';
import { WorkerProcess } from '../run/worker-process';
import type { LibScripts, Mutant } from './scripts';

/** Longest time for all tests on one mutant, ms. */
const MUTANT_LIMIT_MS = 120_000;
/** A process that is larger than this is started again, MB. */
const MOST_MEGABYTES = 600;
const TEST_LIMIT_MS = 60_000;

/** Runs the tests of a lib on the mutants of its scripts. */
export class LibRun {
  private readonly workers: readonly WorkerProcess[];
  private readonly mutants: readonly Mutant[];
  private coverage: readonly Coverage[] = [];
  /** How many mutants a test has killed, by test and file. */
  private readonly kills = new Map<string, number>();

  constructor(
    private readonly scripts: LibScripts,
    workers: number,
    private readonly files: TestFiles,
  ) {
    this.mutants = scripts.mutants();
    this.workers = Array.from({ length: workers }, () => new WorkerProcess(scripts.lib, files));
  }

  /** The tests that can be used. */
  get usable(): readonly string[] {
    return this.coverage.map(({ test }) => test);
  }

  stop(): void {
    for (const worker of this.workers) worker.stop();
  }

  /** Runs all tests on the unchanged scripts. @returns those that cannot be used */
  async cover(): Promise<readonly Coverage[]> {
    const [first] = this.workers;
    const tests = (await first?.ask<readonly string[]>({ kind: 'list' }, MUTANT_LIMIT_MS)) ?? [];
    const all = await this.share(tests, async (worker, test): Promise<Coverage> => {
      const covered = await worker.ask<Coverage>({ kind: 'cover', test }, TEST_LIMIT_MS);
      return covered ?? { test, virtualMs: 0, realMs: 0, ran: [], failure: 'it did not end in time' };
    });
    this.coverage = all.filter(({ failure }) => failure === undefined);
    return all.filter(({ failure }) => failure !== undefined);
  }

  /** Measures the mutants of one file; with `before` only those that survived then. */
  async measure(path: string, before: FileResult | undefined): Promise<FileResult> {
    const file = this.scripts.files.findIndex((one) => one.path === path);
    const source = this.scripts.files[file]?.text ?? '';
    const old = before && new Map(before.survivors.map((one) => [idOf(one), one]));
    const mutants = this.mutants.flatMap((mutant, index) => (mutant.path === path ? [{ mutant, index }] : []));
    const survivors: Survivor[] = [];
    let timeouts = before?.timeouts ?? 0;
    const chosen = mutants.filter(({ mutant }) => old?.has(idOf(mutant)) ?? true);
    await this.share(chosen, async (worker, { mutant, index }) => {
      const orders = this.ordersFor(mutant, file);
      const outcome = await this.outcomeOf(worker, index, orders);
      if (outcome.megabytes > MOST_MEGABYTES) worker.stop();
      if (outcome.killer === undefined) {
        const { line, kind, nth, from, to, text } = mutant;
        const covered = orders.length > 0 || old?.get(idOf(mutant))?.covered === true;
        survivors.push({ line, kind, nth, from: source.slice(from, to), to: text, covered });
      } else this.kills.set(outcome.killer + path, (this.kills.get(outcome.killer + path) ?? 0) + 1);
      if (outcome.failure?.includes('took too long')) timeouts++;
    });
    return {
      hash: hashOf(source),
      mutants: mutants.length,
      killed: mutants.length - survivors.length,
      timeouts,
      complete: this.files === 'others',
      survivors: sorted(survivors),
    };
  }

  private async outcomeOf(worker: WorkerProcess, index: number, orders: readonly Order[]): Promise<Outcome> {
    if (orders.length === 0) return { megabytes: 0 };
    const outcome = await worker.ask<Outcome>({ kind: 'mutant', index, orders }, MUTANT_LIMIT_MS);
    return outcome ?? { killer: '', failure: 'took too long', megabytes: 0 };
  }

  /** Returns the tests that run the statement: those that have killed mutants of this file, and short ones, first. */
  private ordersFor({ statement, path }: Mutant, file: number): Order[] {
    const mark = `${file}:${statement}`;
    const cost = ({ test, realMs }: Coverage): number => (realMs + 5) / (1 + 4 * (this.kills.get(test + path) ?? 0));
    return this.coverage
      .filter(({ ran }) => ran.includes(mark))
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

/** Identifies a mutant among those of its file. */
function idOf({ line, kind, nth }: Pick<Survivor, 'line' | 'kind' | 'nth'>): string {
  return `${line} ${kind} ${nth}`;
}
