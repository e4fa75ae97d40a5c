import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Settings } from '../settings';
import { sorted, type FileResult, type Survivor } from '../results';
import type { Order } from '../run/messages';
import type { Instrumented, Mutant } from './instrument';
import type { Coverage, Outcome } from './messages';
import { WorkerProcess } from './worker-process';

/** A process that is larger than this is started again, MB. */
const MOST_MEGABYTES = 600;

/** Runs the tests of a lib on the mutants of its TypeScript. */
export class LibRun {
  private readonly folder = mkdtempSync(join(tmpdir(), 'mutants-'));
  private readonly sources = join(this.folder, 'sources.json');
  private readonly workers: readonly WorkerProcess[];
  private coverage: readonly Coverage[] = [];
  private atLoad = new Set<string>();
  /** How many mutants a test has killed, by test and file. */
  private readonly kills = new Map<string, number>();

  constructor(
    private readonly lib: string,
    private readonly code: Instrumented,
    private readonly settings: Pick<Settings, 'workers' | 'budgetMs' | 'loading' | 'sample'>,
  ) {
    writeFileSync(this.sources, JSON.stringify(code.texts));
    this.workers = Array.from({ length: settings.workers }, () => new WorkerProcess(lib, this.sources));
  }

  get tests(): number {
    return this.coverage.length;
  }

  stop(): void {
    for (const worker of this.workers) worker.stop();
    rmSync(this.folder, { recursive: true });
  }

  /** Runs all tests without a mutant. @returns those that cannot be used */
  async cover(): Promise<readonly Coverage[]> {
    const tests = (await this.workers[0]?.ask<readonly string[]>({ kind: 'list' })) ?? [];
    const all = await this.share(tests, async (worker, test): Promise<Coverage> => {
      const none = { test, virtualMs: 0, realMs: 0, hits: {}, atLoad: [], failure: 'it did not end in time' };
      return (await worker.ask<Coverage>({ kind: 'cover', test })) ?? none;
    });
    // Tests that fail leave things behind.
    for (const worker of this.workers) worker.stop();
    this.coverage = all.filter(({ failure }) => failure === undefined);
    this.atLoad = new Set(all.flatMap(({ atLoad }) => atLoad));
    return all.filter(({ failure }) => failure !== undefined);
  }

  /** Measures the mutants of one file. */
  async measure(path: string, hash: string): Promise<FileResult> {
    const { sample } = this.settings;
    const mutants = this.code.mutants.filter((mutant) => mutant.path === path).filter((_, at) => at % sample === 0);
    const survivors: Survivor[] = [];
    let timeouts = 0;
    await this.share(mutants, async (worker, mutant) => {
      const { covered, outcome } = await this.run(worker, mutant);
      const { line, kind, nth, from, to, id } = mutant;
      const untested = !covered && this.atLoad.has(id);
      if (outcome.killer === undefined)
        survivors.push({ line, kind, nth, from, to, covered, ...(untested && { untested }) });
      else this.kills.set(outcome.killer + path, (this.kills.get(outcome.killer + path) ?? 0) + 1);
      if (/took too long|Hit count limit/.test(outcome.failure ?? '')) timeouts++;
    });
    const killed = mutants.length - survivors.length;
    return {
      hash,
      mutants: mutants.length,
      killed,
      timeouts,
      complete: true,
      survivors: sorted(survivors),
      ...(sample > 1 && { sample }),
    };
  }

  private async run(worker: WorkerProcess, mutant: Mutant): Promise<{ covered: boolean; outcome: Outcome }> {
    const direct = this.coverage.filter(({ hits }) => hits[mutant.id] !== undefined);
    let outcome: Outcome = { megabytes: 0 };
    if (direct.length > 0) {
      outcome = await this.ask(worker, mutant, direct, false);
      // A test that also failed without the mutant decides nothing: a new process does.
      if (outcome.spoiled === true) {
        worker.stop();
        outcome = await this.ask(worker, mutant, direct, false);
      }
      if (outcome.megabytes > MOST_MEGABYTES || outcome.spoiled === true) worker.stop();
    }
    if (outcome.killer !== undefined || !this.settings.loading || !this.atLoad.has(mutant.id))
      return { covered: direct.length > 0, outcome };
    // It has effect when its module is loaded, so it needs a process of its own. All tests of the file may see it.
    const file = this.code.mutants.filter(({ path }) => path === mutant.path).map(({ id }) => id);
    const some = this.coverage.filter(({ hits }) => file.some((id) => hits[id] !== undefined));
    const own = new WorkerProcess(this.lib, this.sources, mutant.id);
    outcome = await this.ask(own, mutant, some.length > 0 ? some : this.coverage, true);
    own.stop();
    return { covered: true, outcome };
  }

  private async ask(
    worker: WorkerProcess,
    { id, path }: Mutant,
    tests: readonly Coverage[],
    loaded: boolean,
  ): Promise<Outcome> {
    const hits = Math.max(0, ...tests.map((test) => test.hits[id] ?? 0));
    const task = { kind: 'mutant', id, hits, loaded, orders: this.ordersOf(tests, path) } as const;
    return (await worker.ask<Outcome>(task)) ?? { killer: '', failure: 'took too long', megabytes: 0 };
  }

  /** Tests that have killed mutants of this file, and short ones, first. */
  private ordersOf(tests: readonly Coverage[], path: string): Order[] {
    const cost = ({ test, realMs }: Coverage): number => (realMs + 5) / (1 + 4 * (this.kills.get(test + path) ?? 0));
    let left = this.settings.budgetMs; // Tests beyond it are not run: such a mutant survives.
    return [...tests]
      .sort((one, other) => cost(one) - cost(other))
      .filter(({ realMs }) => (left -= realMs) > 0)
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
