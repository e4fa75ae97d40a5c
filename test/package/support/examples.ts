import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { defineExampleTests, exampleApps } from '../../support/example-apps';
import { blocksOf } from '../../support/markdown';
import { runExamplesFrom } from '../../support/pods';
import { LONG } from '../../support/size';
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

/** Writes the sources of the apps in examples/ into `src/examples`. @param adapt changes `main.ts` */
export function writeExampleApps(app: FreshApp, adapt: Adapt = asItIs): void {
  for (const example of exampleApps) {
    const folder = join(ROOT, 'examples', example, 'src');
    for (const file of readdirSync(folder)) {
      const code = readFileSync(join(folder, file), 'utf8');
      app.write(`src/examples/${example}/${file}`, file === 'main.ts' ? adapt(code) : code);
    }
  }
}

/** Lets a `main.ts` start Fastify instead of Express. */
export const onFastify: Adapt = (code) =>
  code
    .replace('import { AppModule }', "import { FastifyAdapter } from '@nestjs/platform-fastify';\nimport { AppModule }")
    .replace('create(AppModule)', 'create(AppModule, new FastifyAdapter())');

/** Defines the tests of the apps in examples/, as an app has compiled them; the long ones only in the full matrix. */
export function testExampleApps(app: () => FreshApp): void {
  describe('the apps of examples/', () => {
    runExamplesFrom((example) => [app().path('dist', 'examples', example, 'main.js')]);
    defineExampleTests('app');
    if (LONG) defineExampleTests('kill');
  });
}
