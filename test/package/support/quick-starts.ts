import { basename } from 'node:path';
import { exportedLibs } from '../../support/libs';
import { snippetsOf } from '../../support/snippets';
import type { FreshApp } from './fresh-app';

/** The Redis of the documents; tests have one of their own. */
const URL = "'redis://127.0.0.1:6379'";

/**
 * Writes the named files of the front page, of the getting-started guide and of the four uses, and the quick start of each lib, but no test, each into a
 * folder below `src/quick-starts`. Returns the paths of the files in there.
 */
export function writeQuickStarts(app: FreshApp): string[] {
  const written: string[] = [];
  const write = (folder: string, file: string, code: string): void => {
    app.write(`src/quick-starts/${folder}/${file}`, code);
    written.push(`${folder}/${file}`);
  };
  const pages = {
    'front-page': 'README.md',
    'getting-started': 'docs/getting-started.md',
    'four-uses': 'docs/four-uses.md',
  };
  for (const [folder, page] of Object.entries(pages)) {
    const named = [...snippetsOf(page)].filter(
      ([path]) => !basename(path).startsWith(`${basename(page)}.`) && !path.endsWith('.test.ts'),
    );
    for (const [path, code] of named) {
      write(folder, basename(path), code.replace(URL, `process.env.REDIS_URL ?? ${URL}`));
    }
  }
  for (const lib of exportedLibs()) {
    // It needs a PostgreSQL, and its client.
    if (lib === 'outbox') continue;
    const [[, code] = []] = [...snippetsOf(`libs/${lib}/README.md`)];
    if (code !== undefined) write(lib, 'app.module.ts', code.replace(URL, `process.env.REDIS_URL ?? ${URL}`));
  }
  return written;
}
