import { readdirSync, readFileSync, existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { ScriptDefinition } from 'luanest/script-registry';
import { groupForm, sectionsOf } from '../libs/script-registry/src/pipe/forms';
import { splitLua } from '../proofs/mutants/lua/lua-tokens';
import { libsWithScripts, scriptsOf } from './support/script-facts';
import { parseScriptHeader } from './support/script-header';

const LIBS = join(__dirname, '..', 'libs');

interface ScriptFile {
  readonly lib: string;
  readonly verb: string;
  readonly source: string;
}

function scriptFiles(): ScriptFile[] {
  return readdirSync(LIBS).flatMap((lib) => {
    const folder = join(LIBS, lib, 'src', 'scripts');
    const files = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith('.lua')) : [];
    return files.map((file) => ({
      lib,
      verb: basename(file, '.lua'),
      source: readFileSync(join(folder, file), 'utf8'),
    }));
  });
}

/** Returns the definition of a script. A file named `<verb>-group.lua` is the Lua of `<verb>` for groups. */
function definitionOf({ lib, verb }: ScriptFile): ScriptDefinition {
  const found = scriptsOf(lib).find(({ name }) => name === `${lib}.${verb}` || `${name}-group` === `${lib}.${verb}`);
  if (found === undefined) throw new Error(`No file *.scripts.ts of ${lib} defines a script named ${lib}.${verb}`);
  return found;
}

/** Returns the Lua that the registry sends for a file. */
function sentLua({ lib, verb }: ScriptFile): string {
  const { name, source, group } = definitionOf({ lib, verb, source: '' });
  if (name === `${lib}.${verb}`) return source;
  return group === false ? '' : (group.source ?? '');
}

/** Returns the indexes by which Lua reads KEYS or ARGV; undefined if it also reads them in another way, such as in a loop. */
function indexesOf(lua: string, table: 'KEYS' | 'ARGV'): number[] | undefined {
  const { code } = splitLua(lua);
  const textAt = (at: number): string => code[at]?.text ?? '';
  const found = new Set<number>();
  for (const [at, { kind, text }] of code.entries()) {
    if (kind !== 'name' || text !== table) continue;
    if (textAt(at + 1) !== '[' || code[at + 2]?.kind !== 'number' || textAt(at + 3) !== ']') return undefined;
    found.add(Number(textAt(at + 2)));
  }
  return [...found].sort((a, b) => a - b);
}

/** Names on each `-- @include` line of a script; two where it takes the one part or the other. */
function includesOf(source: string): string[][] {
  return [...source.matchAll(/^-- @include (\S+)(?: or (\S+))?$/gm)].map(([, ...names]) =>
    names.filter((name) => name !== undefined),
  );
}

/** Text of a shared part, of the lib or else of all libs. */
function partOf(lib: string, name: string): string {
  const paths = [lib, 'internal'].map((folder) => join(LIBS, folder, 'src', 'scripts', 'shared', `${name}.lua`));
  return readFileSync(paths.find((path) => existsSync(path)) ?? (paths[0] as string), 'utf8');
}

/** The lines of code that are in none of a script's local functions. */
function mainBody(code: string): string[] {
  const functions = /^local function .*(?:\bend$|\n(?:(?: .*)?\n)*?end$)/gm;
  return code
    .replaceAll(functions, '')
    .split('\n')
    .filter((line) => !/^\s*(--.*)?$/.test(line));
}

/** Scripts of which one process makes many calls at the same time. All others are sent alone. */
const HOT = [
  'delayed-task.complete',
  'delayed-task.fail',
  'delayed-task.schedule',
  'delayed-task.schedule-one',
  'lock.acquire',
  'lock.release',
  'lock.renew',
  'once.claim',
  'once.confirm',
  'once.first',
  'once.renew',
  'rate-limit.consume',
  'rate-limit.consume-fixed-window',
  'rate-limit.consume-fixed-windows',
  'rate-limit.refund',
  'read-reward.look',
  'read-reward.record',
  'read-reward.record-fully',
  'red-packet.confirm-row',
  'red-packet.grab',
  'red-packet.settle-payout',
  'stream-consumer.ack',
  'stream-consumer.publish',
  'stream-consumer.renew',
  'stream-consumer.take',
  'stream-consumer.take-ordered',
];

it('only scripts with many calls at the same time have a form for groups', () => {
  const grouped = libsWithScripts()
    .flatMap((lib) => scriptsOf(lib))
    .filter((script) => groupForm(script) !== undefined);
  expect(grouped.map(({ name }) => name).sort()).toEqual(HOT);
});

describe.each(scriptFiles())('$lib/$verb.lua', (file) => {
  const header = parseScriptHeader(file.source);
  const script = definitionOf(file);

  it('is named as its file and its definition are, and is what the definition runs', () => {
    expect(header.verb).toBe(file.verb);
    expect(sectionsOf(sentLua(file)).call.trimStart().endsWith(file.source.trimStart())).toBe(true);
  });

  it('runs with the parts that it includes', () => {
    const { shared, call, finish } = sectionsOf(sentLua(file));
    for (const names of includesOf(file.source)) {
      expect(names.filter((name) => (shared + call).includes(partOf(file.lib, name)))).toHaveLength(1);
    }
    for (const name of [...file.source.matchAll(/^-- @finish (\S+)$/gm)].map(([, part = '']) => part)) {
      expect(finish).toContain(partOf(file.lib, name));
    }
  });

  it('names the clock that it reads', () => {
    if (!sentLua(file).includes("redis.call('TIME')")) return;
    expect(file.source).toMatch(/Clock: Redis\b/);
  });

  it('documents the keys and arguments that the definition declares, with their types', () => {
    expect(header.keys).toEqual(script.keys);
    const declared = Object.entries(script.args as Record<string, { label: string }>).map(([name, { label }]) => [
      name,
      label,
    ]);
    expect(header.args).toEqual(declared);
  });

  it('reads every declared key and argument, and no other', () => {
    const lua = sectionsOf(sentLua(file)).call;
    const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);
    const [keys, args] = [indexesOf(lua, 'KEYS'), indexesOf(lua, 'ARGV')];
    if (keys !== undefined) expect(keys).toEqual(upTo(header.keys.length));
    if (args !== undefined) expect(args).toEqual(upTo(header.args.length));
  });

  it('explains each field of its reply, its cost, its TTLs, its clock and what a replay does', () => {
    const fields = [...header.returns.matchAll(/\w+/g)].map(([field]) => field);
    expect([...header.explained].sort()).toEqual(fields.sort());
    expect([...header.notes].sort()).toEqual(['Clock:', 'O(', 'Replay:', 'TTL:']);
  });

  it('keeps to the rules for scripts', () => {
    const code = file.source.slice(file.source.indexOf(']]') + 2);
    expect(code).not.toMatch(/cjson|os\.time|math\.random|redis\.sha1hex|redis\.setresp/);
    expect(code).not.toMatch(/local \w+ *= *KEYS\[/);
    expect(code.trim().split('\n').length).toBeLessThanOrEqual(140);
    expect(mainBody(code).length).toBeLessThanOrEqual(40);
  });
});

describe('the header parser', () => {
  it('refuses a script without a header, and a parameter out of order', () => {
    expect(() => parseScriptHeader('return 1')).toThrow(/must start with/);
    expect(() => parseScriptHeader('--[[\nx: y\n\nKEYS[2]  a  b\n\nReturns c\n]]')).toThrow(
      /KEYS\[2\] where it should list KEYS\[1\]/,
    );
  });
});

it('knows the main body of a script', () => {
  const code =
    'local function a(x) return x end\nlocal function b()\n  -- why\n\n  return 1\nend\n-- c\nlocal d = b()\nreturn d';
  expect(mainBody(code)).toEqual(['local d = b()', 'return d']);
});
