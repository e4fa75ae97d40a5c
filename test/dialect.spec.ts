import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import ts from 'typescript';
import { examplesOf } from './support/examples';
import { exportedLibs } from './support/libs';
import { documents, snippetsOf } from './support/snippets';

const ROOT = join(__dirname, '..');

/** A property of an exported type. */
interface Member {
  /** `lib Type.property`. */
  readonly where: string;
  readonly owner: string;
  readonly name: string;
  readonly type: string;
}

/** Other spellings of what the libs call by one name. */
const ONE_SPELLING: Readonly<Record<string, string>> = {
  after: 'cursor',
  next: 'nextCursor',
  whenRedisFails: 'onRedisError',
  whenInProgress: 'onInProgress',
  drainTimeoutMs: 'drainMs',
  confirmReplicas: 'replicas',
  confirmTimeoutMs: 'replicasTimeoutMs',
  backoffMs: 'backoff.delayMs',
  maxBackoffMs: 'backoff.maxDelayMs',
  handlerTimeoutMs: 'timeoutMs',
  lockAtMostForMs: 'leaseMs',
  maxAttempts: 'attempts',
  retries: 'attempts',
  redisTimeoutMs: 'deadlineMs',
  holder: 'node',
  outcome: 'status',
  process: 'handle',
  shards: 'partitions',
  tags: 'partitions',
  operationTtlMs: 'operationRetentionMs',
  made: 'attemptsMade',
};

/** Names of durations and instants that lack their unit. */
const DURATION = /(timeout|delay|lease|window|retention|grace|ttl|interval|duration|pause|age|backoff)$/i;
const INSTANT = /(At|Until|Since|Deadline)$|^(since|until|at|now|expires|deadline)$/;
const IS_NUMBER = /^number( \| (undefined|null))*$/;

/** Properties of pages. Results of a red packet also have the own packet and the luckiest. */
const IN_A_PAGE = new Set(['items', 'nextCursor', 'own', 'luckiest']);

const doorOf = (lib: string): string => join(lib, 'src', 'index.ts');
/** All files whose exports a user can import. */
const DOORS = [
  ...exportedLibs().map(doorOf),
  join('rate-limit', 'src', 'throttler-storage', 'index.ts'),
  join('testing', 'src', 'servers', 'index.ts'),
];

/** Names that the files at DOORS export, by what a user imports. */
const exported = new Map(
  DOORS.map((door) => {
    const names = readFileSync(join(ROOT, 'libs', door), 'utf8').matchAll(/\b\w+\b(?=,|\s*\})/g);
    return [
      `luanest/${door.replace(/[/\\]src/, '').replace(/[/\\]index\.ts$/, '')}`,
      [...names].map(([name]) => name),
    ] as const;
  }),
);
/** Code of the examples of docstrings by path. */
const examples = new Map(exportedLibs().flatMap((lib) => [...examplesOf(lib, exported)]));
/** Code of the documents' snippets and of the examples by path. */
const snippets = new Map([...documents().flatMap((file) => [...snippetsOf(file)]), ...examples]);
const folders = new Set([...snippets.keys()].map((path) => dirname(path)));

// One program for all tests: the compiler reads all of Nest for it.
const program = ts.createProgram(
  [...DOORS.map((door) => join(ROOT, 'libs', door)), ...snippets.keys()],
  compilerOptions(),
  compilerHost(),
);
const checker = program.getTypeChecker();

function compilerOptions(): ts.CompilerOptions {
  const file = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path));
  return { ...ts.parseJsonConfigFileContent(file.config, ts.sys, ROOT).options, noEmit: true };
}

/** Finds snippets as if they were files next to their documents. */
function compilerHost(): ts.CompilerHost {
  const disk = ts.createCompilerHost(compilerOptions());
  return {
    ...disk,
    fileExists: (path) => snippets.has(path) || disk.fileExists(path),
    directoryExists: (path) => folders.has(path) || (disk.directoryExists?.(path) ?? true),
    readFile: (path) => snippets.get(path) ?? disk.readFile(path),
    getSourceFile: (path, language, ...rest) => {
      const code = snippets.get(path);
      return code === undefined
        ? disk.getSourceFile(path, language, ...rest)
        : ts.createSourceFile(path, code, language);
    },
  };
}

function exportsOf(lib: string, door = doorOf(lib)): ts.Symbol[] {
  const source = program.getSourceFile(join(ROOT, 'libs', door));
  const symbol = source && checker.getSymbolAtLocation(source);
  if (!symbol) throw new Error(`libs/${door} exports nothing.`);
  return checker
    .getExportsOfModule(symbol)
    .map((each) => (each.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(each) : each));
}

/** Public properties of a type that are declared in the libs. */
function propertiesOf(lib: string, owner: string, type: ts.Type): Member[] {
  const types = type.isUnion() ? type.types : [type];
  return types.flatMap((each) =>
    checker.getPropertiesOfType(each).flatMap((property) => {
      const from = property.declarations?.[0];
      if (!from || !relative(ROOT, from.getSourceFile().fileName).startsWith('libs/')) return [];
      if (ts.getCombinedModifierFlags(from) & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) return [];
      const { name } = property;
      const itsType = checker.getTypeOfSymbolAtLocation(property, from);
      return [{ where: `${lib} ${owner}.${name}`, owner, name, type: checker.typeToString(itsType) }];
    }),
  );
}

/** Properties of exported interfaces, types and classes that are declared in the libs, and the fields of all events. */
function membersOf(lib: string): Member[] {
  const types = exportsOf(lib).flatMap((symbol) => {
    const isType = symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias | ts.SymbolFlags.Class);
    if (symbol.declarations?.[0] === undefined || !isType) return [];
    return propertiesOf(lib, symbol.name, checker.getDeclaredTypeOfSymbol(symbol));
  });
  return [...types, ...eventsOf(lib).flatMap(({ owner, type }) => propertiesOf(lib, owner, type))];
}

/** Name of a lib's events: `LockEvents` of luanest/lock. The constant has the channels, the interface has the types. */
function eventsNameOf(lib: string): string {
  return `${lib.replace(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Events`;
}

/** Keys and types of the events in the interface of a lib; none if the lib does not export it. */
function eventsOf(lib: string): { readonly key: string; readonly owner: string; readonly type: ts.Type }[] {
  const symbol = exportsOf(lib).find(({ name }) => name === eventsNameOf(lib));
  if (!symbol) return [];
  return checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol)).map((property) => ({
    key: property.name,
    owner: `${symbol.name}['${property.name}']`,
    type: checker.getTypeOfSymbol(property),
  }));
}

/** Keys of a lib's channels, with their full names as TypeScript prints them; none if the lib does not export the constant. */
function channelsOf(lib: string): { readonly key: string; readonly name: string }[] {
  return exportsOf(lib)
    .filter(({ name, flags }) => name === eventsNameOf(lib) && flags & ts.SymbolFlags.Variable)
    .flatMap((symbol) => checker.getPropertiesOfType(checker.getTypeOfSymbol(symbol)))
    .map((property) => ({ key: property.name, name: checker.typeToString(checker.getTypeOfSymbol(property)) }));
}

describe.each(exportedLibs())('the public names of %s', (lib) => {
  const members = membersOf(lib);

  it('are there', () => expect(exportsOf(lib).length).toBeGreaterThan(0));

  it('use the one spelling of each idea', () => {
    const wrong = members.filter(({ name }) => Object.hasOwn(ONE_SPELLING, name));
    expect(wrong.map(({ where, name }) => `${where} -> ${ONE_SPELLING[name]}`)).toEqual([]);
  });

  it('end in Ms if they are durations, and in AtMs if they are instants', () => {
    const numbers = members.filter(({ type }) => IS_NUMBER.test(type));
    const bare = numbers.filter(({ name }) => DURATION.test(name) || INSTANT.test(name));
    const dates = members.filter(({ type }) => /\bDate\b/.test(type));
    expect([...bare, ...dates].map(({ where, type }) => `${where}: ${type}`)).toEqual([]);
  });

  it('page by { items, nextCursor }', () => {
    const pages = members.filter(({ owner, name }) => owner.endsWith('Page') && !IN_A_PAGE.has(name));
    expect(pages.map(({ where }) => where)).toEqual([]);
    const cursors = members.filter(({ name, type }) => name === 'nextCursor' && !/^string( \| undefined)?$/.test(type));
    expect(cursors.map(({ where, type }) => `${where}: ${type}`)).toEqual([]);
  });

  it('call the options of the module ...ModuleOptions, the result of useFactory', () => {
    const symbols = exportsOf(lib);
    const names = symbols.map(({ name }) => name);
    const modules = symbols.filter((symbol) => checker.getTypeOfSymbol(symbol).getProperty('forRootAsync'));
    expect(modules.map(({ name }) => name)).toEqual(names.filter((name) => /(?<!Testing)Module$/.test(name)));
    expect(modules.filter(({ name }) => !names.includes(`${name}Options`))).toEqual([]);
  });

  it('have events named <noun>.<past participle> of the lib', () => {
    const form = new RegExp(`^"luanest:${lib}:[a-z]+(-[a-z]+)*\\.[a-z]+(-[a-z]+)*"$`);
    expect(channelsOf(lib).filter(({ name }) => !form.test(name))).toEqual([]);
  });

  it('have the type of each event in one interface, by the key of its channel', () => {
    expect(eventsOf(lib).map(({ key }) => key)).toEqual(channelsOf(lib).map(({ key }) => key));
    const other = exportsOf(lib).filter(({ name }) => /Event$|channels$/i.test(name));
    expect(other.map(({ name }) => name)).toEqual([]);
    const empty = eventsOf(lib).filter(({ owner, type }) => propertiesOf(lib, owner, type).length === 0);
    expect(empty.map(({ owner }) => owner)).toEqual([]);
  });
});

it('snippets of the documents and examples of docstrings compile as strictly as the project does', () => {
  expect(snippets.size).toBeGreaterThan(70);
  expect(examples.size).toBeGreaterThan(20);
  // Only of the snippets: `tsc -p tsconfig.json` checks the sources that they import.
  const problems = [...snippets.keys()]
    .flatMap((path) => ts.getPreEmitDiagnostics(program, program.getSourceFile(path)))
    .map(({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`);
  expect(problems).toEqual([]);
  // The compiler takes its time where the machine has other work.
}, 180_000);

it('the whole package exports at most 190 names', () => {
  const counts = DOORS.map((door) => exportsOf('', door).length);
  expect(counts.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(190);
});

it('every lib has a module', () => {
  const without = exportedLibs().filter(
    (lib) => !readdirSync(join(ROOT, 'libs', lib, 'src')).includes(`${lib}.module.ts`),
  );
  // Users make its server and clients themselves, as they do with every transport of Nest.
  expect(without).toEqual(['transport']);
});
