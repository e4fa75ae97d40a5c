import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ROOT } from '../lua/scripts';

/** Libs whose TypeScript is mutated, each with the libs whose tests run on it. Their tests need no other server than the in-memory one. */
export const TESTS_OF: Readonly<Record<string, readonly string[]>> = {
  'script-registry': ['script-registry'],
  'rate-limit': ['rate-limit'],
  lock: ['lock'],
  once: ['once'],
  worker: ['worker', 'delayed-task', 'stream-consumer'],
  'delayed-task': ['delayed-task'],
  'stream-consumer': ['stream-consumer'],
  'scheduled-lock': ['scheduled-lock'],
  'red-packet': ['red-packet'],
  'read-reward': ['read-reward'],
};

/** Files that decide nothing: they declare something, or are generated. */
const DECIDES_NOTHING =
  /[./](index|generated|scripts|types|module|events|errors|exception|tokens|keys|metadata|controller)\.ts$/;

/** Returns the files of a lib that are mutated: paths below the root of the project. */
export function filesOf(lib: string): string[] {
  return sourcesOf(lib).filter((path) => !DECIDES_NOTHING.test(path));
}

/** Returns the share of the lines of a lib that these files have, %. Generated files do not count. */
export function shareOfLines(lib: string, files: readonly string[]): number {
  const lines = (paths: readonly string[]): number =>
    paths.reduce((sum, path) => sum + readFileSync(join(ROOT, path), 'utf8').split('\n').length, 0);
  return Math.round((100 * lines(files)) / lines(sourcesOf(lib).filter((path) => !path.endsWith('/generated.ts'))));
}

function sourcesOf(lib: string): string[] {
  const source = join(ROOT, 'libs', lib, 'src');
  return readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => relative(ROOT, join(source, name)))
    .sort();
}
