import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../lua/scripts';
import type { Mutant } from './instrument';

/** A mutant that no test failed on. */
export interface Survivor extends Omit<Mutant, 'id' | 'path'> {
  /** False if no test runs it at all. */
  readonly covered: boolean;
  /** True if it has effect when its module is loaded, and was not tested there. */
  readonly untested?: true;
}

/** Measured numbers of one file. */
export interface FileResult {
  /** Of the text that was measured. */
  readonly hash: string;
  readonly mutants: number;
  readonly killed: number;
  /** Of those killed: by a test that did not end. */
  readonly timeouts: number;
  /** Mutants that are left out: texts of errors. */
  readonly ignored: number;
  readonly survivors: readonly Survivor[];
}

export interface LibResult {
  /** Day, as in 2026-01-31. */
  readonly measured: string;
  readonly seconds: number;
  readonly tests: number;
  readonly files: Readonly<Record<string, FileResult>>;
}

/** A mutant that cannot change what a caller or a key shows, with the reason. */
export type Equivalent = Pick<Mutant, 'path' | 'lineText' | 'kind' | 'from' | 'to' | 'nth'> & {
  readonly reason: string;
};

const RESULTS = join(ROOT, 'mutants', 'results');
const EQUIVALENT = join(ROOT, 'mutants', 'typescript', 'equivalent.json');

export function readResult(lib: string): LibResult | undefined {
  const path = pathOf(lib);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as LibResult) : undefined;
}

export function writeResult(lib: string, result: LibResult): void {
  const path = pathOf(lib);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(result, undefined, 2)}\n`);
}

function pathOf(lib: string): string {
  return join(RESULTS, `${lib}-typescript.json`);
}

export function survivorOf(
  { line, lineText, kind, from, to, nth }: Mutant,
  covered: boolean,
  untested: boolean,
): Survivor {
  return { line, lineText, kind, from, to, nth, covered, ...(untested && { untested }) };
}

export function readEquivalents(): readonly Equivalent[] {
  return JSON.parse(readFileSync(EQUIVALENT, 'utf8')) as Equivalent[];
}

/** Names a mutant also after lines were added above it. */
export function keyOf({ path, lineText, kind, from, to, nth }: Omit<Equivalent, 'reason'>): string {
  return JSON.stringify([path, lineText, kind, from, to, nth]);
}
