// npm run mutants -- [lib...] [--typescript] [--changed] [--states] [--seconds S] [--room TEXT,...] [--budget MS] [--loading]
//   [--sample N] [--json] [--workers N]
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { measureLua } from './lua/measure';
import { LibScripts, ROOT } from './lua/scripts';
import { totalOf, writeReport, type Measured } from './report';
import { readResult, type FileResult, type Language } from './results';
import type { Settings } from './settings';
import { measureTypescript } from './typescript/measure';
import { filesOf, TESTS_OF } from './typescript/rooms';

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    args: process.argv.slice(3),
    allowPositionals: true,
    options: {
      typescript: { type: 'boolean' },
      changed: { type: 'boolean' },
      states: { type: 'boolean' },
      seconds: { type: 'string' },
      room: { type: 'string' },
      budget: { type: 'string' },
      loading: { type: 'boolean' },
      sample: { type: 'string' },
      json: { type: 'boolean' },
      workers: { type: 'string' },
    },
  });
  const language: Language = values.typescript === true ? 'typescript' : 'lua';
  const scripts = LibScripts.read();
  const all = language === 'lua' ? [...scripts.keys()] : Object.keys(TESTS_OF);
  const unknown = positionals.find((lib) => !all.includes(lib));
  if (unknown !== undefined) throw new Error(`There is no lib "${unknown}" to measure. Libs: ${all.join(', ')}.`);
  const settings: Settings = {
    changed: values.changed === true,
    onlyStates: values.states === true,
    rooms: (values.room ?? '').split(','),
    budgetMs: Number(values.budget ?? 60_000),
    loading: values.loading === true,
    sample: Number(values.sample ?? 1),
    endMs: performance.now() + 1_000 * Number(values.seconds ?? Infinity),
    workers: Number(values.workers ?? (language === 'lua' ? availableParallelism() : 1)),
    log: (line) => values.json !== true && print(line),
  };
  const libs = positionals.length > 0 ? positionals : all;
  for (const lib of libs) {
    if (language === 'lua') await measureLua(scripts.get(lib) as LibScripts, settings);
    else await measureTypescript(lib, settings);
  }
  const measured = { lua: luaResults(scripts), typescript: typescriptResults() };
  if (positionals.length === 0) writeReport(measured);
  const results = libs.map((lib) => measured[language].get(lib)?.result ?? {});
  for (const [path, file] of results.flatMap((result) => Object.entries(result))) printSurvivors(path, file, settings);
  const total = totalOf(results);
  if (values.json === true) print(JSON.stringify(total));
  else print(`${total.mutants} mutants, ${total.killed} killed, ${total.survivors} survivors`);
}

function luaResults(scripts: ReadonlyMap<string, LibScripts>): Measured {
  return new Map(
    [...scripts].map(([lib, { files }]) => {
      const texts = new Map(files.map(({ path, text }) => [path, text]));
      return [lib, { result: readResult(lib, 'lua', texts), files: files.length }];
    }),
  );
}

function typescriptResults(): Measured {
  return new Map(
    Object.keys(TESTS_OF).map((lib) => {
      const texts = new Map(filesOf(lib).map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]));
      return [lib, { result: readResult(lib, 'typescript', texts), files: texts.size }];
    }),
  );
}

function printSurvivors(path: string, { survivors }: FileResult, { log }: Settings): void {
  for (const { line, kind, from, to, covered, untested } of survivors) {
    const why = untested
      ? ' (not tested: it has effect when its module is loaded)'
      : covered
        ? ''
        : ' (no test runs it)';
    log(`${path}:${line} ${kind}, "${firstLine(from)}" to "${firstLine(to)}"${why}`);
  }
}

function firstLine(text: string): string {
  return (text.split('\n', 1)[0] ?? '').trim().slice(0, 120);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
