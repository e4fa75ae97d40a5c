import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineExampleTests, exampleApps } from './support/example-apps';
import { ROOT } from './support/snippets';

/** The apps of examples/ as processes, from their sources. */
defineExampleTests('app');

const read = (...path: string[]): string => readFileSync(join(ROOT, 'examples', ...path), 'utf8');

it('examples/README.md links each app, and each app needs the luanest of its user', () => {
  const overview = read('README.md');
  for (const app of exampleApps) {
    expect(overview).toContain(`[${app}](${app}/)`);
    const { name, dependencies } = JSON.parse(read(app, 'package.json')) as {
      name: string;
      dependencies: Record<string, string>;
    };
    expect([name, dependencies.luanest]).toEqual([app, '*']);
  }
});
