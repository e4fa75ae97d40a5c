import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { runInNewContext } from 'node:vm';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { generateLua } from './generate-lua.mjs';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'luanest-generate-'));
});

afterEach(() => {
  rmSync(root, { recursive: true });
});

function scripts(lib: string, files: Record<string, string | Buffer>): string {
  const folder = join(root, 'libs', lib, 'src', 'scripts');
  mkdirSync(join(folder, 'shared'), { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return join(folder, 'generated.ts');
}

interface Lua {
  readonly source: string;
}

/** The exports of the generated module, evaluated as JavaScript. */
function exportsOf(path: string): Record<string, Lua> {
  const body = readFileSync(path, 'utf8')
    .replace(/^interface Lua \{[^}]*\}$/m, '')
    .replaceAll(/^const (\w+): string/gm, 'const $1')
    .replaceAll(/^export const (\w+): Lua/gm, 'found.$1');
  return runInNewContext(`const found = {};\n${body}\nfound`) as Record<string, Lua>;
}

function alone(source: string): Lua {
  return { source };
}

function run(...args: string[]): { status: number | null; output: string } {
  const tool = join(__dirname, 'generate-lua.mjs');
  const { status, stdout, stderr } = spawnSync(process.execPath, [tool, '--root', root, ...args], { encoding: 'utf8' });
  return { status, output: stdout + stderr };
}

describe('tools/generate-lua.mjs', () => {
  it('writes one constant per script, sorted, under a header', () => {
    const path = scripts('rate-limit', { 'take-tokens.lua': 'return 2\n', 'consume-2-windows.lua': 'return 1\n' });
    mkdirSync(join(root, 'libs', 'no-scripts', 'src'), { recursive: true });
    expect(run()).toEqual({ status: 0, output: '' });
    expect(readFileSync(path, 'utf8')).toMatch(/^\/\/ .*npm run generate/);
    const found = exportsOf(path);
    expect(Object.keys(found)).toEqual(['consume2WindowsLua', 'takeTokensLua']);
    expect(found).toEqual({ consume2WindowsLua: alone('return 1\n'), takeTokensLua: alone('return 2\n') });
  });

  it('keeps every character', () => {
    const roundTrip = (text: string): string | undefined => {
      const path = scripts('once', { 'claim.lua': text });
      generateLua(root);
      return exportsOf(path).claimLua?.source;
    };
    const tricky = '-- `x` ${y} \\ \\n "q" \'s\' \u2028 \u2029 \ufeff é 红包 🧧\t\0--[[ ]] */ </script>\n';
    expect(roundTrip(tricky)).toBe(tricky);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        fc.pre(!/\r|^\s*--\s*@/m.test(text));
        expect(roundTrip(text)).toBe(text);
      }),
    );
  });

  it('leaves a file that is right as it is', () => {
    const path = scripts('once', { 'claim.lua': 'return 1\n' });
    expect(generateLua(root)).toHaveLength(1);
    const { mtimeNs } = statSync(path, { bigint: true });
    expect(generateLua(root)).toEqual([]);
    expect(statSync(path, { bigint: true }).mtimeNs).toBe(mtimeNs);
    expect(run('--check')).toEqual({ status: 0, output: '' });
  });

  it('--check names what is stale, missing or orphaned, with the command that repairs it, and writes nothing', () => {
    const stale = scripts('lock', { 'acquire.lua': 'return 1\n' });
    generateLua(root);
    const before = readFileSync(stale, 'utf8');
    scripts('lock', { 'acquire.lua': 'return 2\n' });
    const missing = scripts('once', { 'claim.lua': 'return 1\n' });
    const orphan = scripts('old', { 'generated.ts': 'export {};\n' });
    expect(run('--check')).toEqual({
      status: 1,
      output: [
        'libs/lock/src/scripts/generated.ts is stale',
        'libs/old/src/scripts/generated.ts is orphaned',
        'libs/once/src/scripts/generated.ts is missing',
        'Repair with: npm run generate\n',
      ].join('\n'),
    });
    expect(readFileSync(stale, 'utf8')).toBe(before);
    expect(existsSync(missing)).toBe(false);
    expect(existsSync(orphan)).toBe(true);

    expect(run().status).toBe(0);
    expect(exportsOf(stale)).toEqual({ acquireLua: alone('return 2\n') });
    expect(existsSync(orphan)).toBe(false);
    expect(run('--check').status).toBe(0);
  });

  it('joins each part once, where it is first needed; a part that reads KEYS or ARGV runs with each call', () => {
    const path = scripts('lock', {
      'take.lua': '--[[\ntake: x\n]]\n-- @include queue\n-- @include clock\n-- @finish end-take\nreturn 1\n',
      'shared/queue.lua': '-- @include clock\nlocal queue\n',
      'shared/end-take.lua': "-- @include steps\nredis.call('DEL', KEYS[1])\n",
      'shared/steps.lua': '-- @include record\nlocal key = KEYS[1]\n',
      'shared/record.lua': '-- Not KEYS, nor ARGV.\nlocal record\n',
    });
    scripts('internal', { 'shared/clock.lua': 'local clock\n' });
    expect(run()).toEqual({ status: 0, output: '' });
    const text = (name: string): string => readFileSync(join(path, '..', name), 'utf8');
    expect(exportsOf(path)).toEqual({
      takeLua: {
        source:
          `local clock\n${text('shared/queue.lua')}${text('shared/record.lua')}-- @call\n` +
          `${text('shared/steps.lua')}${text('take.lua')}-- @finish\n${text('shared/end-take.lua')}`,
      },
    });
    expect(existsSync(join(root, 'libs', 'internal', 'src', 'scripts', 'generated.ts'))).toBe(false);
  });

  it('takes a part of the lib before one of the same name in libs/internal', () => {
    const path = scripts('lock', { 'take.lua': '-- @include clock\nreturn 1\n', 'shared/clock.lua': 'local own\n' });
    scripts('once', { 'take.lua': '-- @include clock\nreturn 1\n' });
    scripts('internal', { 'shared/clock.lua': 'local common\n' });
    generateLua(root);
    const other = join(root, 'libs', 'once', 'src', 'scripts', 'generated.ts');
    expect(exportsOf(path).takeLua?.source).toMatch(/^local own\n-- @call\n/);
    expect(exportsOf(other).takeLua?.source).toMatch(/^local common\n-- @call\n/);
  });

  it('makes two scripts of one source that includes one part or another', () => {
    const source = '-- @include base\n-- @include own or foreign\nreturn 1\n';
    const path = scripts('lock', {
      'take.lua': source,
      'shared/base.lua': 'local base\n',
      'shared/own.lua': 'local own\n',
      'shared/foreign.lua': 'local foreign\n',
    });
    generateLua(root);
    expect(exportsOf(path)).toEqual({
      takeLua: alone(`local base\nlocal own\n-- @call\n${source}`),
      takeForeignLua: alone(`local base\nlocal foreign\n-- @call\n${source}`),
    });
  });

  it.each([
    ['an unknown part', '-- @include clok\n', {}, /take\.lua includes clok, but no folder shared has clok\.lua/],
    [
      'an include without end',
      '-- @include a\n',
      { 'shared/a.lua': '-- @include b\n', 'shared/b.lua': '-- @include a\n' },
      /shared\/a\.lua includes itself: take -> a -> b -> a\./,
    ],
    ['a part included twice', '-- @include a\n-- @include a\n', { 'shared/a.lua': '' }, /take\.lua includes a twice/],
    ['a part that no script includes', '', { 'shared/a.lua': '' }, /shared\/a\.lua is not included by any script/],
    ['an include below code', 'local x\n-- @include a\n', { 'shared/a.lua': '' }, /must come before the first line/],
    ['a misspelled include', '--@include a\n', { 'shared/a.lua': '' }, /"--@include a" must be "-- @include NAME"/],
    ['another directive', '-- @use a\n', { 'shared/a.lua': '' }, /"-- @use a" must be "-- @include NAME"/],
    [
      'a choice within a part',
      '-- @include a\n',
      { 'shared/a.lua': '-- @include b or c\n', 'shared/b.lua': '', 'shared/c.lua': '' },
      /shared\/a\.lua: only a script may include "one or the other"/,
    ],
  ])('refuses %s', (_, lines, parts, message) => {
    const path = scripts('lock', { 'take.lua': `--[[\ntake: x\n]]\n${lines}return 1\n`, ...parts });
    expect(() => generateLua(root)).toThrow(message);
    expect(() => generateLua(root, { check: true })).toThrow(message);
    expect(existsSync(path)).toBe(false);
  });

  it('--check finds a part that has changed', () => {
    scripts('lock', { 'take.lua': '-- @include clock\nreturn 1\n' });
    scripts('internal', { 'shared/clock.lua': 'local clock\n' });
    generateLua(root);
    scripts('internal', { 'shared/clock.lua': 'local time\n' });
    expect(generateLua(root, { check: true })).toEqual(['libs/lock/src/scripts/generated.ts is stale']);
  });

  it.each([
    ['CRLF line ends', 'claim.lua', 'return 1\r\n', /claim\.lua has carriage returns/],
    ['a lone CR', 'claim.lua', 'return 1\r', /claim\.lua has carriage returns/],
    ['another encoding', 'claim.lua', Buffer.from([0x2d, 0x2d, 0xe9]), /claim\.lua is not UTF-8/],
    ['camel case', 'claimOnce.lua', '', /claimOnce\.lua must be named in kebab-case/],
    ['a leading digit', '2-claims.lua', '', /kebab-case/],
    ['a double dash', 'claim--once.lua', '', /kebab-case/],
    ['an underscore', 'claim_once.lua', '', /kebab-case/],
  ])('refuses %s', (_, name, content, message) => {
    const path = scripts('once', { [name]: content });
    expect(run()).toEqual({ status: 1, output: expect.stringMatching(message) });
    expect(run('--check')).toEqual({ status: 1, output: expect.stringMatching(message) });
    expect(existsSync(path)).toBe(false);
  });

  it('works on the repository that it lies in, wherever it is called', () => {
    const path = scripts('once', { 'claim.lua': 'return 1\n' });
    mkdirSync(join(root, 'tools'));
    const tool = join(root, 'tools', 'generate-lua.mjs');
    for (const file of ['generate-lua.mjs', 'lua-scripts.mjs', 'run-as-tool.mjs']) {
      copyFileSync(join(__dirname, file), join(root, 'tools', file));
    }
    execFileSync(process.execPath, [tool], { cwd: tmpdir() });
    expect(exportsOf(path)).toEqual({ claimLua: alone('return 1\n') });
  });
});
