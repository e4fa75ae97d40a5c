import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './support/snippets';

/** The apps of examples/ as processes, from their sources. Their e2e tests are defined here, so that Jest loads them once. */
const examples = readdirSync(join(ROOT, 'examples'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== 'testing')
  .map(({ name }) => name);

for (const example of examples) jest.requireActual(join(ROOT, 'examples', example, 'test', 'app.e2e-spec.ts'));
