// npm run mutants -- [--typescript] [lib...] [--changed] [--again] [--states] [--seconds S] [--json] [--workers N]
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { LibRun } from './lib-run';
import { LibScripts } from './lua/scripts';
import { writeReport } from './report';
import type { TestFiles } from './run/messages';
import * as results from './results';
import { main as typescript } from './typescript/main';

/** Score that each lib needs, %. */
const LEAST_SCORE = 95;

interface Settings {
  /** True: files that were measured are not measured again. */
  readonly changed: boolean;
  /** True: but their survivors are. */
  readonly again: boolean;
  /** True: survivors of the tests of states do not get the other tests. */
  readonly onlyStates: boolean;
  /** Time by performance.now() after which no further file is begun. */
  readonly endMs: number;
  readonly equivalents: readonly results.Equivalent[];
  readonly workers: number;
  readonly log: (line: string) => void;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    args: process.argv.slice(3),
    allowPositionals: true,
    options: {
      changed: { type: 'boolean' },
      again: { type: 'boolean' },
      states: { type: 'boolean' },
      seconds: { type: 'string' },
      json: { type: 'boolean' },
      workers: { type: 'string' },
    },
  });
  const all = LibScripts.read();
  const unknown = positionals.find((lib) => !all.has(lib));
  if (unknown !== undefined)
    throw new Error(`There is no lib "${unknown}" with scripts. Libs: ${[...all.keys()].join(', ')}.`);
  const equivalents = results.readEquivalents();
  const wrong = results.outdated(equivalents, all.values());
  if (wrong.length > 0)
    throw new Error(`mutants/equivalent.json has entries that match no mutant: ${JSON.stringify(wrong)}`);
  const settings: Settings = {
    changed: values.changed === true || values.again === true,
    again: values.again === true,
    onlyStates: values.states === true,
    endMs: performance.now() + 1_000 * Number(values.seconds ?? Infinity),
    equivalents,
    workers: Number(values.workers ?? availableParallelism()),
    log: (line) => values.json !== true && print(line),
  };
  const libs = positionals.length > 0 ? positionals : [...all.keys()];
  for (const lib of libs) await runLib(all.get(lib) as LibScripts, settings);
  const total = writeReport(all);
  if (values.json === true) print(JSON.stringify(total));
  else print(`${total.mutants} mutants, ${total.killed} killed, ${total.survivors} survivors`);
  const weak = [...total.scores].filter(([, score]) => score < LEAST_SCORE).map(([lib, score]) => `${lib} ${score} %`);
  if (weak.length > 0) throw new Error(`Scores below ${LEAST_SCORE} %: ${weak.join(', ')}. See test/MUTANTS.md.`);
}

/** Measures the files of a lib that are not known yet, and writes what is known after each file. */
async function runLib(scripts: LibScripts, settings: Settings): Promise<void> {
  const { lib } = scripts;
  const before = settings.changed ? results.readResult(lib) : undefined;
  const known = new Map<string, results.FileResult>(
    scripts.files.flatMap(({ path, text }) => {
      const file = before?.files[path];
      return file !== undefined && file.hash === results.hashOf(text) ? [[path, file] as const] : [];
    }),
  );
  const survives = (path: string): boolean =>
    known.get(path)?.survivors.some((one) => !results.reasonFor(path, one, settings.equivalents)) === true;
  const paths = scripts.files.map(({ path }) => path);
  const started = performance.now();
  let tests = 0;
  const measure = async (files: TestFiles, wanted: readonly string[]): Promise<void> => {
    if (wanted.length === 0) return;
    const run = new LibRun(scripts, settings.workers, files);
    try {
      await cover(run, `${lib}, ${files === 'states' ? 'tests of states' : 'other tests'}`, settings);
      tests += run.usable.length;
      for (const path of wanted) {
        if (performance.now() > settings.endMs) return settings.log(`${path}: no time left`);
        const from = performance.now();
        const result = await run.measure(path, known.get(path), settings.equivalents);
        known.set(path, result);
        results.writeResult(lib, {
          measured: new Date().toISOString().slice(0, 10),
          seconds: Math.round((before?.seconds ?? 0) + (performance.now() - started) / 1000),
          tests: Math.max(tests, before?.tests ?? 0),
          workers: settings.workers,
          files: Object.fromEntries([...known].sort()),
        });
        const { mutants, survivors, timeouts } = result;
        settings.log(
          `${path}: ${mutants} mutants, ${survivors.length} survivors, ${timeouts} by time, ${seconds(from)}`,
        );
      }
    } finally {
      run.stop();
    }
  };
  // Tests of states are short and find most mutants. Only what survives them gets the other tests.
  await measure(
    'states',
    paths.filter((path) => !known.has(path) || (settings.again && survives(path))),
  );
  await measure(
    'others',
    settings.onlyStates ? [] : paths.filter((path) => known.get(path)?.complete === false && survives(path)),
  );
  if (tests === 0) settings.log(`${lib}: no changed scripts`);
}

async function cover(run: LibRun, what: string, { log }: Settings): Promise<void> {
  const from = performance.now();
  const failing = await run.cover();
  log(`${what}: ${run.usable.length} tests, ${seconds(from)}`);
  for (const { test, failure } of failing) log(`  not used: ${test}: ${failure?.split('\n', 1)[0]}`);
}

function seconds(from: number): string {
  return `${((performance.now() - from) / 1000).toFixed(1)} s`;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

const args = process.argv.slice(3);
(args.includes('--typescript') ? typescript(args) : main()).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
