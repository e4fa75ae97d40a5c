// npm run mutants -- [lib...] [--changed] [--json] [--workers N]
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { LibRun } from './lib-run';
import { LibScripts } from './lua/scripts';
import { writeReport } from './report';
import { hashOf, outdated, readEquivalents, readResult, writeResult, type FileResult } from './results';

interface Settings {
  readonly changed: boolean;
  readonly workers: number;
  readonly log: (line: string) => void;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    args: process.argv.slice(3),
    allowPositionals: true,
    options: { changed: { type: 'boolean' }, json: { type: 'boolean' }, workers: { type: 'string' } },
  });
  const all = LibScripts.read();
  const unknown = positionals.find((lib) => !all.has(lib));
  if (unknown !== undefined)
    throw new Error(`There is no lib "${unknown}" with scripts. Libs: ${[...all.keys()].join(', ')}.`);
  const wrong = outdated(readEquivalents(), all.values());
  if (wrong.length > 0)
    throw new Error(`mutants/equivalent.json has entries that are no mutants: ${JSON.stringify(wrong)}`);
  const settings: Settings = {
    changed: values.changed === true,
    workers: Number(values.workers ?? availableParallelism()),
    log: (line) => values.json !== true && print(line),
  };
  const libs = positionals.length > 0 ? positionals : [...all.keys()];
  for (const lib of libs) await runLib(all.get(lib) as LibScripts, settings);
  const total = writeReport(all);
  if (values.json === true) print(JSON.stringify(total));
  else print(`${total.mutants} mutants, ${total.killed} killed, ${total.survivors} survivors`);
}

/** Measures a lib, and writes what is known after each file. */
async function runLib(scripts: LibScripts, { changed, workers, log }: Settings): Promise<void> {
  const { lib } = scripts;
  const before = changed ? readResult(lib) : undefined;
  const known = new Map<string, FileResult>(
    scripts.files.flatMap(({ path, text }) => {
      const file = before?.files[path];
      return file !== undefined && file.hash === hashOf(text) ? [[path, file] as const] : [];
    }),
  );
  const wanted = scripts.files.filter(({ path }) => !known.has(path));
  if (wanted.length === 0) return log(`${lib}: no changed scripts`);
  const run = new LibRun(scripts, workers);
  const started = performance.now();
  try {
    const { usable, failing } = await run.cover();
    log(`${lib}: ${usable} tests in ${((performance.now() - started) / 1000).toFixed(0)} s`);
    for (const { test, failure } of failing) log(`  not used: ${test}: ${failure?.split('\n', 1)[0]}`);
    for (const { path } of wanted) {
      const from = performance.now();
      const result = await run.measure(path);
      known.set(path, result);
      const seconds = (before?.seconds ?? 0) + (performance.now() - started) / 1000;
      writeResult(lib, {
        measured: new Date().toISOString().slice(0, 10),
        seconds: Math.round(seconds),
        tests: usable,
        workers,
        files: Object.fromEntries([...known].sort()),
      });
      const took = ((performance.now() - from) / 1000).toFixed(1);
      log(
        `${path}: ${result.mutants} mutants, ${result.survivors.length} survivors, ${result.timeouts} by time, ${took} s`,
      );
    }
  } finally {
    run.stop();
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
