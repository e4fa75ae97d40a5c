import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './lua/scripts';
import type { FileResult, Language, LibResult } from './results';

export interface Total {
  readonly mutants: number;
  readonly killed: number;
  readonly survivors: number;
  /** Killed mutants, %. */
  readonly score: number;
}

/** Results of the libs, and the number of files that can be measured. */
export type Measured = ReadonlyMap<string, { readonly result: LibResult; readonly files: number }>;

const PATH = join(ROOT, 'proofs', 'MUTANTS.md');

export function totalOf(results: readonly LibResult[]): Total {
  const files = results.flatMap((result) => Object.values(result));
  const sum = (of: (file: FileResult) => number): number => files.reduce((all, file) => all + of(file), 0);
  const [mutants, killed] = [sum((one) => one.mutants), sum((one) => one.killed)];
  // Rounded down, so that 100 is all of them.
  return { mutants, killed, survivors: mutants - killed, score: Math.floor((1000 * killed) / (mutants || 1)) / 10 };
}

/** Writes proofs/MUTANTS.md: one row for each lib. */
export function writeReport(measured: Readonly<Record<Language, Measured>>): void {
  const lines = [
    '# Mutants',
    '',
    'Made by `npm run mutants`. A mutant is a script or a file of TypeScript with one small change: a statement dropped, a comparison',
    'turned, a constant off by one. A mutant is killed if a test fails on it. The tests are those of its lib that need no real server,',
    'on the in-memory server. Survivors are printed, and written to `data/mutants`. Most of them cannot change what a caller or a key',
    'shows. `proofs/mutants/typescript/rooms.ts` lists the files of TypeScript; those that are not listed are not measured.',
    '',
    `Day: ${new Date().toISOString().slice(0, 10)}. The numbers are of the files of that day; only a run of all libs writes this page.`,
    '',
    '## Lua',
    '',
    ...tableOf(measured.lua),
    '',
    '## TypeScript',
    '',
    ...tableOf(measured.typescript),
  ];
  writeFileSync(PATH, `${lines.join('\n')}\n`);
}

function tableOf(measured: Measured): string[] {
  const row = (name: string, files: string, { mutants, killed, survivors, score }: Total): string[] =>
    mutants === 0
      ? [name, files, '-', '-', '-', '-']
      : [name, files, `${mutants}`, `${killed}`, `${survivors}`, `${score} %`];
  return table([
    ['Lib', 'Files measured', 'Mutants', 'Killed', 'Survivors', 'Score'],
    ...[...measured].map(([lib, { result, files }]) =>
      row(lib, `${Object.keys(result).length} of ${files}`, totalOf([result])),
    ),
    row('**all**', '', totalOf([...measured.values()].map(({ result }) => result))),
  ]);
}

/** Returns the lines of a table, of which the first row is the head. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(3, ...rows.map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  const [head = [], ...others] = rows.map(line);
  return [String(head), line(widths.map((width) => '-'.repeat(width))), ...others.map(String)];
}
