import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './lua/scripts';
import type { FileResult, Language, LibResult } from './results';
import { shareOfLines } from './typescript/rooms';

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
    'shows. `proofs/mutants/typescript/rooms.ts` says which files of TypeScript decide something; the others are not measured. "Lines" is',
    'the share of the lines of a lib that are in measured files. "1 in 20" means that each 20th mutant of a file was measured.',
    '',
    `Day: ${new Date().toISOString().slice(0, 10)}. The numbers are of the files of that day; only a run of all libs writes this page.`,
    '',
    '## Lua',
    '',
    ...tableOf(measured.lua),
    '',
    '## TypeScript',
    '',
    ...tableOf(measured.typescript, true),
  ];
  writeFileSync(PATH, `${lines.join('\n')}\n`);
}

function tableOf(measured: Measured, isTypescript = false): string[] {
  const row = (name: string, files: string, lines: string, { mutants, killed, survivors, score }: Total): string[] => [
    ...[name, files, ...(isTypescript ? [lines] : [])],
    ...(mutants === 0 ? ['-', '-', '-', '-'] : [`${mutants}`, `${killed}`, `${survivors}`, `${score} %`]),
  ];
  return table([
    ['Lib', 'Files measured', ...(isTypescript ? ['Lines'] : []), 'Mutants', 'Killed', 'Survivors', 'Score'],
    ...[...measured].map(([lib, { result, files }]) => {
      const paths = Object.keys(result);
      const sample = Math.max(1, ...Object.values(result).map((file) => file.sample ?? 1));
      const measuredFiles = `${paths.length} of ${files}${sample > 1 ? `, 1 in ${sample}` : ''}`;
      return row(lib, measuredFiles, isTypescript ? `${shareOfLines(lib, paths)} %` : '', totalOf([result]));
    }),
    row('**all**', '', '', totalOf([...measured.values()].map(({ result }) => result))),
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
