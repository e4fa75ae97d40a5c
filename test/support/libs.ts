import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Libs that are in the package, and of which it has no export. */
const NOT_EXPORTED = ['cli', 'internal', 'memory-redis', 'worker'];

/** Libs that the package exports, sorted by name: all other folders of libs/. */
export function exportedLibs(): string[] {
  const folders = readdirSync(join(__dirname, '..', '..', 'libs'));
  return folders.filter((lib) => !NOT_EXPORTED.includes(lib)).sort();
}
