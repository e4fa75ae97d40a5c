import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './lua/scripts';

/** A mutant that no test failed on. */
export interface Survivor {
  readonly line: number;
  readonly kind: string;
  /** Number of the mutant among those of its kind in its line. */
  readonly nth: number;
  /** The changed text, and what it became. */
  readonly from: string;
  readonly to: string;
  /** False if no test runs it. */
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
  /** Of those killed: by a test that did not end in time. */
  readonly timeouts: number;
  /** True if the survivors got all tests of the lib, not only those of exact states. */
  readonly complete: boolean;
  /** TypeScript only: each n-th mutant was measured; undefined if all were. */
  readonly sample?: number;
  readonly survivors: readonly Survivor[];
}

/** Results of the files of a lib, by path. */
export type LibResult = Readonly<Record<string, FileResult>>;

/** Lua or TypeScript. */
export type Language = 'lua' | 'typescript';

const FOLDER = join(ROOT, 'data', 'mutants');

const pathOf = (lib: string, language: Language): string => join(FOLDER, `${lib}-${language}.json`);

/** Returns what was measured on this machine before, for files whose text is still the same. @param texts by path */
export function readResult(lib: string, language: Language, texts: ReadonlyMap<string, string>): LibResult {
  const path = pathOf(lib, language);
  const all = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as LibResult) : {};
  return Object.fromEntries(
    Object.entries(all).filter(([file, { hash }]) => texts.has(file) && hash === hashOf(texts.get(file) ?? '')),
  );
}

export function writeResult(lib: string, language: Language, result: LibResult): void {
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(pathOf(lib, language), `${JSON.stringify(result, undefined, 2)}\n`);
}

export function hashOf(text: string): string {
  return createHash('sha1').update(text).digest('hex').slice(0, 16);
}

/** Sorts survivors by their place in the file. */
export function sorted(survivors: readonly Survivor[]): Survivor[] {
  return [...survivors].sort(
    (one, other) => one.line - other.line || one.kind.localeCompare(other.kind) || one.nth - other.nth,
  );
}
