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
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return join(folder, 'generated.ts');
}

/** What the generated module exports, evaluated as JavaScript. */
function exportsOf(path: string): Record<string, string> {
  const body = readFileSync(path, 'utf8').replaceAll(/^export const (\w+): string/gm, 'found.$1');
  return runInNewContext(`const found = {};\n${body}\nfound`) as Record<string, string>;
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
    const [header, ...lines] = readFileSync(path, 'utf8').split('\n');
    expect(header).toMatch(/^\/\/ .*npm run generate/);
    expect(lines).toEqual([
      'export const consume2WindowsLua: string = "return 1\\n";',
      'export const takeTokensLua: string = "return 2\\n";',
      '',
    ]);
  });

  it('keeps every character', () => {
    const roundTrip = (text: string): string | undefined => {
      const path = scripts('once', { 'claim.lua': text });
      generateLua(root);
      return exportsOf(path).claimLua;
    };
    const tricky = '-- `x` ${y} \\ \\n "q" \'s\' \u2028 \u2029 \ufeff é 红包 🧧\t\0--[[ ]] */ </script>\n';
    expect(roundTrip(tricky)).toBe(tricky);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        fc.pre(!text.includes('\r'));
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

  it('--check names what is stale, missing or orphaned, with the command that mends it, and writes nothing', () => {
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
        'Mend with: npm run generate\n',
      ].join('\n'),
    });
    expect(readFileSync(stale, 'utf8')).toBe(before);
    expect(existsSync(missing)).toBe(false);
    expect(existsSync(orphan)).toBe(true);

    expect(run().status).toBe(0);
    expect(exportsOf(stale)).toEqual({ acquireLua: 'return 2\n' });
    expect(existsSync(orphan)).toBe(false);
    expect(run('--check').status).toBe(0);
  });

  it.each([
    ['CRLF line ends', 'claim.lua', 'return 1\r\n', /claim\.lua has CRLF line ends/],
    ['a lone CR', 'claim.lua', 'return 1\r', /claim\.lua has CRLF line ends/],
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
    copyFileSync(join(__dirname, 'generate-lua.mjs'), tool);
    execFileSync(process.execPath, [tool], { cwd: tmpdir() });
    expect(exportsOf(path)).toEqual({ claimLua: 'return 1\n' });
  });
});
