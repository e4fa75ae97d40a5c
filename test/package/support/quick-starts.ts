import { basename } from 'node:path';
import { exportedLibs } from '../../support/libs';
import { snippetsOf } from '../../support/snippets';
import type { FreshApp } from './fresh-app';

/** Writes the files of the front page and the quick start of each lib into folders of their own below `src/quick-starts`. */
export function writeQuickStarts(app: FreshApp): string[] {
  const written: string[] = [];
  const write = (folder: string, file: string, code: string): void => {
    app.write(`src/quick-starts/${folder}/${file}`, code);
    written.push(`${folder}/${file}`);
  };
  const named = [...snippetsOf('README.md')].filter(([path]) => !basename(path).startsWith('README.md.'));
  for (const [path, code] of named) write('front-page', basename(path), code);
  for (const lib of exportedLibs()) {
    const [[, code] = []] = [...snippetsOf(`libs/${lib}/README.md`)];
    if (code !== undefined) write(lib, 'app.module.ts', code);
  }
  return written;
}
