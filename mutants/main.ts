// npm run mutants -- [lib...] [--changed] [--again] [--memory] [--json] [--workers N]
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { LibRun } from './lib-run';
import { LibScripts } from './lua/scripts';
import { startServers } from './real-servers';
import { writeReport } from './report';
import { hashOf, outdated, readEquivalents, readResult, writeResult, type FileResult } from './results';

interface Settings {
  /** True: files that were measured are not measured again. */
  readonly changed: boolean;
  /** True: but their survivors are. */
  readonly again: boolean;
  /** True: survivors do not get the tests that need real servers. */
  readonly onlyMemory: boolean;
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
      memory: { type: 'boolean' },
      json: { type: 'boolean' },
      workers: { type: 'string' },
    },
  });
  const all = LibScripts.read();
  const unknown = positionals.find((lib) => !all.has(lib));
  if (unknown !== undefined)
    throw new Error(`There is no lib "${unknown}" with scripts. Libs: ${[...all.keys()].join(', ')}.`);
  const wrong = outdated(readEquivalents(), all.values());
  if (wrong.length > 0)
    throw new Error(`mutants/equivalent.json has entries that match no mutant: ${JSON.stringify(wrong)}`);
  const settings: Settings = {
    changed: values.changed === true || values.again === true,
    again: values.again === true,
    onlyMemory: values.memory === true,
    workers: Number(values.workers ?? availableParallelism()),
    log: (line) => values.json !== true && print(line),
  };
  const libs = positionals.length > 0 ? positionals : [...all.keys()];
  for (const lib of libs) await runLib(all.get(lib) as LibScripts, settings);
  const total = writeReport(all);
  if (values.json === true) print(JSON.stringify(total));
  else print(`${total.mutants} mutants, ${total.killed} killed, ${total.survivors} survivors`);
}

/** Measures the files of a lib that are not known yet, and writes what is known after each file. */
async function runLib(scripts: LibScripts, settings: Settings): Promise<void> {
  const { lib } = scripts;
  const before = settings.changed ? readResult(lib) : undefined;
  const known = new Map<string, FileResult>(
    scripts.files.flatMap(({ path, text }) => {
      const file = before?.files[path];
      return file !== undefined && file.hash === hashOf(text) ? [[path, file] as const] : [];
    }),
  );
  const wanted = scripts.files
    .map(({ path }) => path)
    .filter((path) => !known.has(path) || (settings.again && known.get(path)?.survivors.length !== 0));
  const survived = (): string[] => [...known].filter(([, file]) => needsRealServers(file)).map(([path]) => path);
  if (wanted.length === 0 && (settings.onlyMemory || survived().length === 0)) {
    return settings.log(`${lib}: no changed scripts`);
  }
  const started = performance.now();
  const memory = new LibRun(scripts, settings.workers, false);
  const real = new LibRun(scripts, settings.workers, true);
  const measure = async (run: LibRun, path: string): Promise<void> => {
    const from = performance.now();
    const again = known.get(path);
    const result = await run.measure(path, again);
    known.set(path, run === real ? { ...result, real: true } : result);
    writeResult(lib, {
      measured: new Date().toISOString().slice(0, 10),
      seconds: Math.round((before?.seconds ?? 0) + (performance.now() - started) / 1000),
      tests: memory.usable.length + real.usable.length,
      workers: settings.workers,
      files: Object.fromEntries([...known].sort()),
    });
    const { mutants, survivors, timeouts } = result;
    const took = `${seconds(from)}${run === real ? ', on real servers' : ''}`;
    settings.log(`${path}: ${mutants} mutants, ${survivors.length} survivors, ${timeouts} by time, ${took}`);
  };
  let stopServers = (): Promise<void> => Promise.resolve();
  try {
    await cover(memory, [], `${lib} in memory`, settings);
    for (const path of wanted) await measure(memory, path);
    if (settings.onlyMemory || survived().length === 0) return;
    stopServers = await startServers();
    await cover(real, memory.usable, `${lib} on real servers`, settings);
    for (const path of survived()) await measure(real, path);
  } finally {
    memory.stop();
    real.stop();
    await stopServers();
  }
}

function needsRealServers({ real, survivors }: FileResult): boolean {
  return real !== true && survivors.length > 0;
}

async function cover(run: LibRun, except: readonly string[], what: string, { log }: Settings): Promise<void> {
  const from = performance.now();
  const failing = await run.cover(except);
  log(`${what}: ${run.usable.length} tests, ${seconds(from)}`);
  for (const { test, failure } of failing) log(`  not used: ${test}: ${failure?.split('\n', 1)[0]}`);
}

function seconds(from: number): string {
  return `${((performance.now() - from) / 1000).toFixed(1)} s`;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
