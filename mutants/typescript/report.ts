import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../lua/scripts';
import { hashOf } from '../results';
import { keyOf, readEquivalents, readResult, type FileResult } from './results';
import { filesOf, ROOMS } from './rooms';

export interface Total {
  readonly mutants: number;
  readonly killed: number;
  readonly equivalent: number;
  readonly survivors: number;
  /** Killed of those that are not equivalent, %. */
  readonly score: number;
  readonly ignored: number;
  readonly files: number;
}

interface Row {
  readonly lib: string;
  readonly measured: readonly { readonly path: string; readonly file: FileResult }[];
  readonly total: Total;
}

/** Returns the sums of each lib, and of all, of what was measured for the present files. */
export function totals(): { readonly rows: readonly Row[]; readonly all: Total } {
  const reasons = reasonsByKey();
  const rows = Object.keys(ROOMS).map((lib): Row => {
    const files = readResult(lib)?.files ?? {};
    const measured = filesOf(lib).flatMap((path) => {
      const file = files[path];
      return file?.hash === hashOf(readFileSync(join(ROOT, path), 'utf8')) ? [{ path, file }] : [];
    });
    const total = measured.map(({ path, file }): Total => {
      const equivalent = file.survivors.filter((one) => reasons.has(keyOf({ ...one, path }))).length;
      const survivors = file.survivors.length - equivalent;
      return { ...file, equivalent, survivors, score: 0, files: 1 };
    });
    return { lib, measured, total: add(total) };
  });
  return { rows, all: add(rows.map(({ total }) => total)) };
}

/** Returns the lines of the section about TypeScript in test/MUTANTS.md. */
export function typescriptSection(): string[] {
  const { rows, all } = totals();
  const reasons = reasonsByKey();
  const survivors = rows.flatMap(({ lib, measured }) => {
    const lines = measured.flatMap(({ path, file }) =>
      file.survivors.map((one) => {
        const reason = reasons.get(keyOf({ ...one, path }));
        const survives = one.untested
          ? 'not tested: it has effect when its module is loaded'
          : one.covered
            ? 'survives'
            : 'survives: no test runs it';
        const state = reason === undefined ? survives : `equivalent: ${reason}`;
        return `- ${path.split('/').slice(3).join('/')}:${one.line} ${one.kind}, ${code(one.from)} to ${code(one.to)}. ${state}`;
      }),
    );
    return lines.length === 0 ? [] : [`### TypeScript of ${lib}`, '', ...lines, ''];
  });
  return [
    '## TypeScript',
    '',
    'Made by `npm run mutants -- --typescript`, with the mutants of Stryker. `mutants/typescript/rooms.ts` lists the files. A mutant gets',
    'each test of its lib that runs it, on the in-memory server, until one fails. Texts of errors are left out. What a mutant',
    'changes when its module is loaded is tested only with `--loading`, else it counts as a survivor. The reasons of equivalent',
    'mutants are in `mutants/typescript/equivalent.json`. A run with `--budget` leaves out long tests, so its score is a lower bound.',
    '',
    ...table([
      ['Lib', 'Mutants', 'Killed', 'Equivalent', 'Survivors', 'Score', 'Files measured', 'Left out'],
      ...rows.map(({ lib, total }) => [
        lib,
        ...figures(total),
        `${total.files} of ${filesOf(lib).length}`,
        `${total.ignored}`,
      ]),
      ['**all**', ...figures(all), `${all.files}`, `${all.ignored}`],
    ]),
    '',
    ...table([
      ['File', 'Mutants', 'Killed', 'Equivalent', 'Survivors', 'Score'],
      ...rows.flatMap(({ measured }) =>
        measured.map(({ path, file }) => {
          const equivalent = file.survivors.filter((one) => reasons.has(keyOf({ ...one, path }))).length;
          const { mutants, killed } = file;
          const left = file.survivors.length - equivalent;
          return [
            path.replace(/^libs\//, ''),
            ...[mutants, killed, equivalent, left].map(String),
            score(killed, mutants - equivalent),
          ];
        }),
      ),
    ]),
    '',
    ...survivors,
  ];
}

function reasonsByKey(): ReadonlyMap<string, string> {
  return new Map(readEquivalents().map((one) => [keyOf(one), one.reason]));
}

function figures({ mutants, killed, equivalent, survivors }: Total): string[] {
  if (mutants === 0) return ['-', '-', '-', '-', '-'];
  return [...[mutants, killed, equivalent, survivors].map(String), score(killed, mutants - equivalent)];
}

function score(killed: number, of: number): string {
  return of === 0 ? '-' : `${percent(killed, of)} %`;
}

/** Rounded down, so that 85 is at least 85. */
function percent(killed: number, of: number): number {
  return of === 0 ? 100 : Math.floor((1000 * killed) / of) / 10;
}

function add(totals: readonly Total[]): Total {
  const sum = (of: (total: Total) => number): number => totals.reduce((all, total) => all + of(total), 0);
  const [mutants, killed] = [sum((one) => one.mutants), sum((one) => one.killed)];
  const [equivalent, survivors] = [sum((one) => one.equivalent), sum((one) => one.survivors)];
  const [ignored, files] = [sum((one) => one.ignored), sum((one) => one.files)];
  return { mutants, killed, equivalent, survivors, score: percent(killed, mutants - equivalent), ignored, files };
}

/** Returns the lines of a table, of which the first row is the head. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(3, ...rows.map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  const [head = [], ...others] = rows.map(line);
  return [String(head), line(widths.map((width) => '-'.repeat(width))), ...others.map(String)];
}

/** The first line of a text, as code in Markdown. */
function code(text: string): string {
  const [line = '', ...more] = text.split('\n');
  return `\`${line.replaceAll('`', "'").trim().slice(0, 120)}${more.length > 0 ? ' ...' : ''}\``;
}
