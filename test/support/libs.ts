import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Libs that the package exports, sorted by name: all folders of libs/ but `internal`. */
export function exportedLibs(): string[] {
  const folders = readdirSync(join(__dirname, '..', '..', 'libs'));
  return folders.filter((lib) => lib !== 'internal').sort();
}
