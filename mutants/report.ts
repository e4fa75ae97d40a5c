import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, type LibScripts } from './lua/scripts';
import { hashOf, readEquivalents, readResult, reasonFor, type LibResult } from './results';
import { typescriptSection } from './typescript/report';

export interface Total {
  readonly mutants: number;
  readonly killed: number;
  readonly equivalent: number;
  readonly survivors: number;
  /** Killed of those that are not equivalent, %. */
  readonly score: number;
}

const PATH = join(ROOT, 'test', 'MUTANTS.md');

/** Writes test/MUTANTS.md from what was measured for the present scripts. @returns the sums, and the scores of the libs */
export function writeReport(libs: ReadonlyMap<string, LibScripts>): Total & { scores: ReadonlyMap<string, number> } {
  const measured = [...libs].map(([lib, scripts]) => ({ lib, scripts, result: readResult(lib) }));
  const rows = measured.map(({ lib, scripts, result }) => ({ lib, result, total: totalOf(scripts, result), scripts }));
  const sum = add(rows.map(({ total }) => total));
  const lines = [
    '# Mutants of the Lua scripts',
    '',
    'Made by `npm run mutants`. A mutant is a script with one small change: a statement dropped, a comparison turned, a constant',
    'off by one, a TTL not set, a key swapped. A mutant is killed if a test fails on it.',
    '',
    'The tests are those of the lib that need no real server, on the in-memory server of `libs/testing`. Their time passes only',
    'while they have nothing to do. A mutant first gets the tests of single scripts in exact states (`states*.spec.ts`) that run',
    'its statement. If it survives, it gets all other tests that run it, until one fails. No real server is used.',
    '',
    'Score: killed mutants of those that are not equivalent. A mutant is equivalent if it cannot change what a caller or a key',
    'shows: the reasons are below, from `mutants/equivalent.json`.',
    '',
    ...table([
      [
        'Lib',
        'Mutants',
        'Killed',
        'Equivalent',
        'Survivors',
        'Score',
        'Files measured',
        'Tests',
        'Seconds',
        'Workers',
        'Day',
      ],
      ...rows.map(({ lib, result, total, scripts }) => [
        lib,
        ...figures(total),
        `${currentFiles(scripts, result).length} of ${scripts.files.length}`,
        ...(result === undefined
          ? ['-', '-', '-', '-']
          : [result.tests, result.seconds, result.workers, result.measured].map(String)),
      ]),
      ['**all**', ...figures(sum), '', '', '', '', ''],
    ]),
    '',
    ...rows.flatMap(({ lib, scripts, result }) => survivorsOf(lib, scripts, result)),
    ...typescriptSection(),
  ];
  writeFileSync(PATH, `${lines.join('\n').trimEnd()}\n`);
  return { ...sum, scores: new Map(rows.map(({ lib, total }) => [lib, total.score])) };
}

function figures({ mutants, killed, equivalent, survivors, score }: Total): string[] {
  if (mutants === 0) return ['-', '-', '-', '-', '-'];
  return [mutants, killed, equivalent, survivors, `${score} %`].map(String);
}

/** Returns the lines of a table, of which the first row is the head. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(3, ...rows.map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  const [head = [], ...others] = rows.map(line);
  return [String(head), line(widths.map((width) => '-'.repeat(width))), ...others.map(String)];
}

/** Returns what was measured for files that have not changed since. */
function currentFiles(scripts: LibScripts, result: LibResult | undefined) {
  return scripts.files.flatMap(({ path, text }) => {
    const file = result?.files[path];
    return file?.hash === hashOf(text) ? [{ path, file }] : [];
  });
}

function totalOf(scripts: LibScripts, result: LibResult | undefined): Total {
  const equivalents = readEquivalents();
  return add(
    currentFiles(scripts, result).map(({ path, file }) => {
      const equivalent = file.survivors.filter((one) => reasonFor(path, one, equivalents) !== undefined).length;
      return {
        mutants: file.mutants,
        killed: file.killed,
        equivalent,
        survivors: file.survivors.length - equivalent,
        score: 0,
      };
    }),
  );
}

function add(totals: readonly Total[]): Total {
  const sum = (of: (total: Total) => number): number => totals.reduce((all, total) => all + of(total), 0);
  const [mutants, killed] = [sum((one) => one.mutants), sum((one) => one.killed)];
  const [equivalent, survivors] = [sum((one) => one.equivalent), sum((one) => one.survivors)];
  // Rounded down, so that 95 is at least 95.
  const score = mutants === equivalent ? 100 : Math.floor((1000 * killed) / (mutants - equivalent)) / 10;
  return { mutants, killed, equivalent, survivors, score };
}

function survivorsOf(lib: string, scripts: LibScripts, result: LibResult | undefined): string[] {
  const equivalents = readEquivalents();
  const lines = currentFiles(scripts, result).flatMap(({ path, file }) =>
    file.survivors.map((one) => {
      const reason = reasonFor(path, one, equivalents);
      const state =
        reason !== undefined ? `equivalent: ${reason}` : one.covered ? 'survives' : 'survives: no test runs it';
      const change = one.to.trim() === '' ? `without ${code(one.from)}` : `${code(one.from)} to ${code(one.to)}`;
      return `- ${path.split('/').slice(4).join('/')}:${one.line} ${one.kind}, ${change}. ${state}`;
    }),
  );
  return lines.length === 0 ? [] : [`## ${lib}`, '', ...lines, ''];
}

/** The first line of a text, as code in Markdown. */
function code(text: string): string {
  const [line = '', ...more] = text.split('\n');
  return `\`${line.replaceAll('`', "'").trim()}${more.length > 0 ? ' ...' : ''}\``;
}
