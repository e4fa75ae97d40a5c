import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT, type LibScripts, type Mutant } from './lua/scripts';

/** A mutant that no test failed on. */
export interface Survivor {
  readonly line: number;
  readonly lineText: string;
  readonly kind: string;
  readonly nth: number;
  /** The changed text, and what it became. */
  readonly from: string;
  readonly to: string;
  /** False if no test runs the statement at all. */
  readonly covered: boolean;
}

/** Measured numbers of one file of Lua. */
export interface FileResult {
  /** Of the text that was measured. */
  readonly hash: string;
  readonly mutants: number;
  readonly killed: number;
  /** Of those killed: by a test that did not end in time. */
  readonly timeouts: number;
  /** True if the survivors got all tests of the lib, not only those of exact states. */
  readonly complete: boolean;
  readonly survivors: readonly Survivor[];
}

export interface LibResult {
  /** Day, as in 2026-01-31. */
  readonly measured: string;
  readonly seconds: number;
  readonly tests: number;
  readonly workers: number;
  readonly files: Readonly<Record<string, FileResult>>;
}

/** A mutant that cannot change what a caller or a key shows, with the reason. */
export interface Equivalent {
  readonly path: string;
  /** The line without spaces at its ends. */
  readonly line: string;
  readonly kind: string;
  readonly nth: number;
  readonly reason: string;
}

const FOLDER = join(ROOT, 'mutants', 'results');
const EQUIVALENT = join(ROOT, 'mutants', 'equivalent.json');

export function readResult(lib: string): LibResult | undefined {
  const path = join(FOLDER, `${lib}.json`);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as LibResult) : undefined;
}

export function writeResult(lib: string, result: LibResult): void {
  const path = join(FOLDER, `${lib}.json`);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(result, undefined, 2)}\n`);
}

export function hashOf(text: string): string {
  return createHash('sha1').update(text).digest('hex').slice(0, 16);
}

export function survivorOf(
  { line, lineText, kind, nth, from, to, text, path }: Mutant,
  scripts: LibScripts,
  covered: boolean,
): Survivor {
  const source = scripts.files.find((file) => file.path === path)?.text ?? '';
  return { line, lineText, kind, nth, from: source.slice(from, to), to: text, covered };
}

export function readEquivalents(): readonly Equivalent[] {
  return JSON.parse(readFileSync(EQUIVALENT, 'utf8')) as Equivalent[];
}

/** Returns the equivalents that match no mutant of the present Lua: remove or correct them. */
export function outdated(equivalents: readonly Equivalent[], libs: Iterable<LibScripts>): Equivalent[] {
  const keys = new Set([...libs].flatMap((lib) => lib.mutants().map((one) => key(one.path, one.lineText, one))));
  return equivalents.filter((one) => !keys.has(key(one.path, one.line, one)));
}

/** Returns the reason why a survivor is equivalent; undefined if it is not known to be. */
export function reasonFor(path: string, survivor: Survivor, equivalents: readonly Equivalent[]): string | undefined {
  const wanted = key(path, survivor.lineText, survivor);
  return equivalents.find((one) => key(one.path, one.line, one) === wanted)?.reason;
}

function key(path: string, line: string, { kind, nth }: { kind: string; nth: number }): string {
  return JSON.stringify([path, line, kind, nth]);
}
