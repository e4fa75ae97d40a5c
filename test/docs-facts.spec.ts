import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { exportedLibs } from './support/libs';
import { tableOf, tablesOf, words } from './support/markdown';
import { commandsOf, hidesKeys, libsWithScripts, scriptsOf, unpacks } from './support/script-facts';

describe('facts about scripts in the documents', () => {
  it('names the commands that a Redis user must be allowed', () => {
    const documented = tableOf('docs/production.md', 'lib', 'commands of its scripts').map(([lib, cell]) => [
      lib,
      ...words(cell).flatMap((word) => word.split(' ')),
    ]);
    const used = libsWithScripts().map((lib) => [
      lib,
      ...commandsOf(scriptsOf(lib)).map((command) => `+${command.toLowerCase()}`),
    ]);
    expect(documented).toEqual(used);
  });

  it('says what proxies that inspect scripts would refuse', () => {
    const short = (lib: string, names: readonly string[]): string[] =>
      names.map((name) => name.slice(lib.length + 1)).sort();
    const documented = tableOf('docs/managed-redis.md', 'lib', 'keys in Lua variables').map(([lib, ...cells]) => [
      lib,
      ...cells.map((cell) => words(cell).sort()),
    ]);
    const found = libsWithScripts().map((lib) => {
      const scripts = scriptsOf(lib);
      const those = (is: (script: (typeof scripts)[number]) => boolean): string[] =>
        short(
          lib,
          scripts.filter(is).map(({ name }) => name),
        );
      return [lib, those(hidesKeys), those(unpacks), those((script) => commandsOf([script]).includes('SPUBLISH'))];
    });
    expect(documented).toEqual(found);
  });

  it('is right that every script has a key', () => {
    for (const script of libsWithScripts().flatMap(scriptsOf)) expect(script.keys.length).toBeGreaterThan(0);
  });
});

/**
 * Names of the options in the interfaces `...Options` of a lib that users can set: those of modules, those that the lib exports, and
 * those that one of these has as an option.
 */
function optionsOf(lib: string): string[] {
  const folder = join(__dirname, '..', 'libs', lib, 'src');
  const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const bodies = new Map(
    sources.flatMap((file) =>
      [...read(file).matchAll(/^export interface (\w*Options)\b[^{]*\{\n(.*?)^\}/gms)].map(
        ([, name = '', body = '']) => [name, body],
      ),
    ),
  );
  const named = new Set([...bodies.keys()].filter((name) => /^(?!Resolved).*ModuleOptions$/.test(name)));
  for (const name of read('index.ts').match(/\b\w*Options\b/g) ?? []) named.add(name);
  // A set also visits what is added meanwhile.
  for (const name of named)
    for (const [, inner = ''] of (bodies.get(name) ?? '').matchAll(/^ {2}readonly \w+\??: (\w*Options);/gm))
      named.add(inner);
  return [...named].flatMap((name) =>
    [...(bodies.get(name) ?? '').matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, option = '']) => option),
  );
}

it.each(exportedLibs())('the guide of %s names every option', (lib) => {
  const guide = readFileSync(join(__dirname, '..', 'libs', lib, 'README.md'), 'utf8');
  const options = optionsOf(lib);
  expect(options.length).toBeGreaterThan(0);
  expect(options.filter((name) => !new RegExp(`\\b${name}\\b`).test(guide))).toEqual([]);
});

/** Rows of all tables of docs/errors.md that list codes. */
const errorRows = (): string[][] =>
  ['class', 'status'].flatMap((second) =>
    tablesOf('docs/errors.md', 'code', second, 'what happened', 'effect', 'what to do'),
  );

it('the documents have for every code what happened, what effect it had, and what to do', () => {
  const rows = errorRows();
  expect(rows.length).toBeGreaterThan(40);
  expect(rows.filter((row) => row.length !== 5 || row.includes(''))).toEqual([]);
});

it('the documents list every code of a refused request', () => {
  const sources = ['once/src/idempotency/idempotency.exception.ts', 'rate-limit/src/rate-limit.exception.ts'];
  const codes = sources.flatMap((file) => {
    const text = readFileSync(join(__dirname, '..', 'libs', file), 'utf8');
    return [...text.matchAll(/^ {2}([A-Z_]+): \[(\d+),|code: '([A-Z_]+)'/gm)].map(([, key, , code]) => key ?? code);
  });
  const documented = errorRows().flatMap(([code, second]) => (second?.startsWith('`') ? [] : words(code)));
  expect(documented.sort()).toEqual([...new Set(codes)].sort());
});

it('the libs export every class of an error that the documents list, but those that the documents name', () => {
  const exported = exportedLibs().flatMap((lib) =>
    ['index.ts', 'servers/index.ts'].flatMap((file) => {
      const path = join(__dirname, '..', 'libs', lib, 'src', file);
      return existsSync(path) ? [...readFileSync(path, 'utf8').matchAll(/\b\w+Error\b/g)].map(([name]) => name) : [];
    }),
  );
  const documented = [...new Set(errorRows().flatMap(([, name]) => words(name)))];
  const text = readFileSync(join(__dirname, '..', 'docs', 'errors.md'), 'utf8');
  const named = /([^.]*)\s+are not exported\./.exec(text)?.[1];
  expect(documented.filter((name) => !exported.includes(name)).sort()).toEqual(words(named).sort());
});

it('the documents list every error with its code', () => {
  const libs = join(__dirname, '..', 'libs');
  const sources = readdirSync(libs, { recursive: true, encoding: 'utf8' }).filter((file) => /src.*\.ts$/.test(file));
  const codes = sources.flatMap((file) => {
    const text = readFileSync(join(libs, file), 'utf8');
    const one = [...text.matchAll(/class (\w+Error) .*\{[^}]*?readonly code = '(\w+)'/g)];
    const many = [...text.matchAll(/class (\w+Error) .*\{[^}]*?readonly code: (\w+);/g)].flatMap(([, name, type]) => {
      const union = new RegExp(`^type ${type} =([^;]*);`, 'm').exec(text)?.[1] ?? '';
      return [...union.matchAll(/'(\w+)'/g)].map(([, code]) => ['', name, code]);
    });
    return [...one, ...many].map(([, name, code]) => `${code} ${name}`);
  });
  const documented = new Set(
    errorRows().flatMap(([code, name]) => (name?.startsWith('`') ? [[...words(code), ...words(name)].join(' ')] : [])),
  );
  expect(codes.length).toBeGreaterThan(30);
  expect([...documented].sort()).toEqual(codes.sort());
});
