// npm run mutants -- --typescript [lib...] [--changed] [--again] [--room TEXT,...] [--budget MS] [--loading] [--json] [--workers N]
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { LibScripts, ROOT } from '../lua/scripts';
import { writeReport } from '../report';
import { hashOf } from '../results';
import { instrument } from './instrument';
import { LibRun } from './lib-run';
import { totals } from './report';
import { keyOf, readEquivalents, readResult, writeResult, type FileResult } from './results';
import { filesOf, ROOMS } from './rooms';

interface Settings {
  /** True: files that were measured are not measured again. */
  readonly changed: boolean;
  /** True: but their survivors are. */
  readonly again: boolean;
  /** Only files whose path has one of these texts. */
  readonly rooms: readonly string[];
  readonly workers: number;
  /** Most time for the tests of a mutant, ms. */
  readonly budgetMs: number;
  /** True: mutants that have effect when their module is loaded are tested, too, which takes seconds for each. */
  readonly loading: boolean;
  readonly log: (line: string) => void;
}

export async function main(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      typescript: { type: 'boolean' },
      changed: { type: 'boolean' },
      again: { type: 'boolean' },
      room: { type: 'string' },
      budget: { type: 'string' },
      loading: { type: 'boolean' },
      json: { type: 'boolean' },
      workers: { type: 'string' },
    },
  });
  const unknown = positionals.find((lib) => !(lib in ROOMS));
  if (unknown !== undefined)
    throw new Error(`There is no lib "${unknown}" with rooms. Libs: ${Object.keys(ROOMS).join(', ')}.`);
  const settings: Settings = {
    changed: values.changed === true || values.again === true,
    again: values.again === true,
    rooms: (values.room ?? '').split(','),
    workers: Number(values.workers ?? 1),
    loading: values.loading === true,
    budgetMs: Number(values.budget ?? 60_000),
    log: (line) => values.json !== true && process.stdout.write(`${line}\n`),
  };
  for (const lib of positionals.length > 0 ? positionals : Object.keys(ROOMS)) await runLib(lib, settings);
  writeReport(LibScripts.read());
  const { all } = totals();
  if (values.json === true) process.stdout.write(`${JSON.stringify(all)}\n`);
  else process.stdout.write(`${all.mutants} mutants, ${all.killed} killed, ${all.survivors} survivors\n`);
}

/** Measures the files of a lib that are not known yet, and writes what is known after each file. */
async function runLib(lib: string, settings: Settings): Promise<void> {
  const { log } = settings;
  const code = await instrument(lib);
  const mutants = new Set(code.mutants.map(keyOf));
  const outdated = readEquivalents().filter((one) => one.path.startsWith(`libs/${lib}/`) && !mutants.has(keyOf(one)));
  if (outdated.length > 0) throw new Error(`equivalent.json has entries of no mutant: ${JSON.stringify(outdated)}`);
  const before = readResult(lib);
  const hashes = new Map(filesOf(lib).map((path) => [path, hashOf(readFileSync(join(ROOT, path), 'utf8'))]));
  const known = new Map<string, FileResult>(
    Object.entries(before?.files ?? {}).filter(([path, { hash }]) => hash === hashes.get(path)),
  );
  const equivalent = new Set(readEquivalents().map(keyOf));
  const wanted = [...hashes.keys()].filter((path) => {
    if (!settings.rooms.some((room) => path.includes(room))) return false;
    if (!settings.changed || !known.has(path)) return true;
    return settings.again && known.get(path)?.survivors.some((one) => !equivalent.has(keyOf({ ...one, path })));
  });
  if (wanted.length === 0) return log(`${lib}: no changed files`);
  const run = new LibRun(lib, code, settings.workers, settings.budgetMs, settings.loading);
  const started = performance.now();
  try {
    const failing = await run.cover();
    log(`${lib}: ${run.tests} tests, ${seconds(started)}`);
    for (const { test, failure } of failing) log(`  not used: ${test}: ${failure?.split('\n', 1)[0]}`);
    for (const path of wanted) {
      const from = performance.now();
      const result = await run.measure(path, hashes.get(path) ?? '', settings.again ? known.get(path) : undefined);
      known.set(path, result);
      writeResult(lib, {
        measured: new Date().toISOString().slice(0, 10),
        seconds: Math.round((before?.seconds ?? 0) + (performance.now() - started) / 1000),
        tests: run.tests,
        files: Object.fromEntries([...known].sort()),
      });
      log(`${path}: ${result.mutants} mutants, ${result.survivors.length} survivors, ${seconds(from)}`);
    }
  } finally {
    run.stop();
  }
}

function seconds(from: number): string {
  return `${((performance.now() - from) / 1000).toFixed(1)} s`;
}
