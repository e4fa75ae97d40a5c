// Makes docs/api from the docstrings of all exports of the package, for a release; the folder is not committed. With --check it
// writes nothing. It fails if an export has no docstring.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Application, ReflectionKind } from 'typedoc';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDER = 'docs/api';

/** Returns the entry points of the package: the name that users import, and the source file. */
function doors() {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  return Object.entries(exports)
    .filter(([, target]) => typeof target === 'object')
    .map(([door, { types }]) => ({
      name: door.replace('.', 'luanest'),
      file: types.replace('./dist/', '').replace(/\.d\.ts$/, '.ts'),
    }));
}

const options = (named, out) => ({
  outputs: [{ name: 'markdown', path: out }],
  plugin: ['typedoc-plugin-markdown'],
  entryPoints: named.map(({ file }) => join(ROOT, file)),
  tsconfig: join(ROOT, 'tsconfig.build.json'),
  name: 'API of luanest',
  readme: 'none',
  excludePrivate: true,
  excludeProtected: true,
  excludeInternal: true,
  excludeExternals: true,
  // Links to source lines would change with every edit.
  disableSources: true,
  logLevel: 'Warn',
  validation: { notExported: false, invalidLink: true, notDocumented: false },
  githubPages: false,
  outputFileStrategy: 'modules',
  hideBreadcrumbs: true,
  hidePageHeader: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  classPropertiesFormat: 'table',
  typeDeclarationFormat: 'table',
  propertyMembersFormat: 'table',
  expandParameters: true,
  sort: ['kind', 'alphabetical'],
});

/** Returns the exports, the methods of exports, and the events in the interfaces of events, that have no docstring. */
function undocumented(project) {
  const has = (one) => one.hasComment() || one.signatures?.some((signature) => signature.hasComment());
  const exported = project.getReflectionsByKind(ReflectionKind.Module).flatMap(({ children = [] }) => children);
  const methods = exported.flatMap(({ children = [] }) =>
    children.filter((child) => child.kindOf(ReflectionKind.Method) && child.inheritedFrom === undefined),
  );
  const events = exported.filter(({ name }) => name.endsWith('Events')).flatMap(({ children = [] }) => children);
  return [...exported, ...methods, ...events].filter((one) => !one.kindOf(ReflectionKind.Reference) && !has(one));
}

async function generate(out) {
  const named = doors();
  const app = await Application.bootstrapWithPlugins(options(named, out));
  const entries = app.getEntryPoints() ?? [];
  // Entry points are named as users import them, so that the page of luanest/lock is lock.md.
  for (const entry of entries) {
    const door = named.find(({ file }) => entry.sourceFile.fileName.endsWith(file));
    if (door) entry.displayName = door.name.replace('luanest/', '');
  }
  const project = app.converter.convert(entries);
  if (!project) return false;
  app.validate(project);
  for (const one of undocumented(project)) app.logger.error(`${one.getFriendlyFullName()} has no docstring`);
  if (app.logger.hasErrors() || app.logger.hasWarnings()) return false;
  await app.generateOutputs(project);
  return !app.logger.hasErrors();
}

const check = process.argv.includes('--check');
const out = check ? mkdtempSync(join(tmpdir(), 'luanest-api-')) : join(ROOT, FOLDER);
try {
  if (!(await generate(out))) process.exitCode = 1;
} finally {
  if (check) rmSync(out, { recursive: true, force: true });
}
