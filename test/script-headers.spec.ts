import { readdirSync, readFileSync, existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { AnyScript } from 'luanest/script-registry';
import { sourceUse } from '../libs/script-registry/src/lua/source-use';
import { scriptsOf } from './support/script-facts';
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

function definitionOf({ lib, verb }: ScriptFile): AnyScript {
  const found = scriptsOf(lib).find(({ name }) => name === `${lib}.${verb}`);
  if (found === undefined) throw new Error(`No file *.scripts.ts of ${lib} defines a script named ${lib}.${verb}`);
  return found;
}

/** Reads its permissions by a loop over `...`, once an app. */
const ALONE = ['red-packet.check-permissions'];

it('scripts that are to leave in groups are all proven safe to do so', () => {
  const scripts = scriptFiles().map(definitionOf);
  const refused = scripts.flatMap(({ name, group, source, shared, finish }) => {
    const why = [source, shared, finish].map((lua) => sourceUse(lua).alone).find((reason) => reason !== undefined);
    const grouped = group !== false && group.maxCalls > 1;
    return grouped && why !== undefined && !ALONE.includes(name) ? [`${name} ${why}`] : [];
  });
  expect(refused).toEqual([]);
});

describe.each(scriptFiles())('$lib/$verb.lua', (file) => {
  const header = parseScriptHeader(file.source);
  const script = definitionOf(file);

  it('is named as its file and its definition are, and is what the definition runs', () => {
    expect(header.verb).toBe(file.verb);
    expect(script.source).toBe(file.source);
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
    const use = sourceUse(file.source);
    if (use.whole) return;
    const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);
    expect([...new Set(use.keyIndexes)].sort((a, b) => a - b)).toEqual(upTo(header.keys.length));
    expect([...new Set(use.argIndexes)].sort((a, b) => a - b)).toEqual(upTo(header.args.length));
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
    expect(code.trim().split('\n').length).toBeLessThanOrEqual(60);
  });
});

describe('the header parser', () => {
  it('refuses a script without a header, and a parameter out of order', () => {
    expect(() => parseScriptHeader('return 1')).toThrow(/starts with/);
    expect(() => parseScriptHeader('--[[\nx: y\n\nKEYS[2]  a  b\n\nReturns c\n]]')).toThrow(/KEYS\[2\] stands/);
  });
});
