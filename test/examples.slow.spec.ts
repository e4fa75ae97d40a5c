import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './support/snippets';

/** The apps of examples/ as processes that are killed, from their sources. */
const tests = readdirSync(join(ROOT, 'examples'), { recursive: true, encoding: 'utf8' });

for (const test of tests.filter((file) => file.endsWith('kill.e2e-spec.ts'))) {
  jest.requireActual(join(ROOT, 'examples', test));
}
