import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { blocksOf } from '../../support/markdown';
import { ROOT, snippetsOf } from '../../support/snippets';
import type { FreshApp } from './fresh-app';

const EXAMPLES = 'examples/testing';
const GUIDE = 'docs/testing.md';
const SERVERS = 'docs/testing-servers.md';

/** Changes a test into one for the runner of the app. */
type Adapt = (code: string) => string;

const asItIs: Adapt = (code) => code;
const isTest = (file: string): boolean => /\.(test|spec)\.ts$/.test(file);

/** Writes examples/testing into the folder of the same name. */
export function writeExamples(app: FreshApp, adapt: Adapt = asItIs): void {
  for (const file of readdirSync(join(ROOT, EXAMPLES)).filter((name) => name.endsWith('.ts'))) {
    const code = readFileSync(join(ROOT, EXAMPLES, file), 'utf8');
    app.write(`${EXAMPLES}/${file}`, isTest(file) ? adapt(code) : code);
  }
}

/** Writes the named snippets of the guides of testing into `guide` and `servers`. Returns the paths of the tests. */
export function writeGuides(app: FreshApp, adapt: Adapt): string[] {
  const tests: string[] = [];
  for (const [folder, page] of Object.entries({ guide: GUIDE, servers: SERVERS })) {
    for (const [path, code] of snippetsOf(page)) {
      if (code.includes("from 'node:test'")) continue;
      const file = `${folder}/${basename(path)}`;
      app.write(file, isTest(file) ? adapt(code) : code);
      if (isTest(file)) tests.push(file);
    }
  }
  return tests;
}

/** Returns two blocks of the guide: the import that `adapt` adds to each test, and the configuration for a Vite before 8. */
export function vitestOfGuide(): { adapt: Adapt; configBeforeVite8: string } {
  const blocks = blocksOf(GUIDE, 'js');
  const imports = blocks.find((code) => code.includes("from 'vitest'"));
  const configBeforeVite8 = blocks.find((code) => code.includes("from 'unplugin-swc'"));
  if (imports === undefined || configBeforeVite8 === undefined) throw new Error(`${GUIDE} does not describe Vitest`);
  return { adapt: (code) => imports + code, configBeforeVite8 };
}
