// @ts-check
// node tools/check-lua.mjs
// Runs luacheck over each script together with the parts that it includes. Warnings have the lines of the .lua files.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { readScripts } from './lua-scripts.mjs';
import { runAsTool } from './run-as-tool.mjs';

/** @typedef {import('./lua-scripts.mjs').LuaScript} LuaScript */
/** @typedef {import('./lua-scripts.mjs').LuaFile} LuaFile */
/** @typedef {{ text: string, file: LuaFile, line: number, isPart: boolean }} Line */
/** @typedef {{ path: string, lines: Line[] }} Joined  a script with its parts, as a file in the temporary folder */

/** Codes of warnings for something unused. They are reported only if no script uses it: a part may serve several scripts. */
const UNUSED = /^W(211|221|231|241)$/;

/**
 * Returns the lines of a script and its parts. The source is put into a function, because `finish` must not see its locals.
 * @param {LuaScript} script
 * @returns {Line[]}
 */
function linesOf({ shared, source, finish }) {
  const script = /** @type {LuaFile} */ (source.at(-1));
  /** @param {LuaFile[]} files */
  const all = (files) =>
    files.flatMap((file) =>
      file.text
        .replace(/\n$/, '')
        .split('\n')
        .map((text, i) => ({ text, file, line: i + 1, isPart: file !== script })),
    );
  const brace = (/** @type {string} */ text) => ({ text, file: script, line: 1, isPart: false });
  return [...all(shared), brace('local function call()'), ...all(source), brace('end call()'), ...all(finish)];
}

/**
 * Returns the warnings of luacheck for all scripts.
 * @param {string} root
 * @param {string} config path of the .luacheckrc
 * @returns {string[]} `<path>:<line>:<column>: <message>`, once each
 */
export function checkLua(root, config) {
  const folder = mkdtempSync(join(tmpdir(), 'luanest-luacheck-'));
  try {
    const joined = [...readScripts(root).values()].flat().map((script, i) => {
      const path = join(folder, `${i}.lua`);
      const lines = linesOf(script);
      writeFileSync(path, `${lines.map(({ text }) => text).join('\n')}\n`);
      return { path, lines };
    });
    if (joined.length === 0) return [];
    const args = ['--config', config, '--formatter', 'plain', '--codes', ...joined.map(({ path }) => path)];
    const { stdout, stderr, status, error } = spawnSync('luacheck', args, { encoding: 'utf8', maxBuffer: 2 ** 26 });
    if (error) throw error;
    if (status === null || status > 2) throw new Error(`luacheck failed: ${stderr || stdout}`);
    return report(joined, stdout);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * Converts the output of luacheck to warnings about the .lua files.
 * @param {Joined[]} joined
 * @param {string} output of luacheck
 */
function report(joined, output) {
  const byPath = new Map(joined.map((script) => [script.path, script]));
  /** @type {Map<string, Set<string>>} scripts by warning */
  const found = new Map();
  for (const text of output.split('\n').filter((line) => line !== '')) {
    const [, path = '', line, column, code = '', message = ''] = /^(.+?):(\d+):(\d+): \((\w+)\) (.*)$/.exec(text) ?? [];
    const at = byPath.get(path)?.lines[Number(line) - 1];
    if (at === undefined) throw new Error(`luacheck printed a line that is not a warning: ${text}`);
    // Line numbers in messages are those of the joined script.
    const clean = message.replace(/ on line (\d+)/, (_, other) => {
      const first = byPath.get(path)?.lines[Number(other) - 1];
      return first === undefined ? '' : ` on line ${first.line} of ${first.file.path}`;
    });
    const warning = `${at.file.path}:${at.line}:${column}: (${code}) ${clean}`;
    found.set(warning, (found.get(warning) ?? new Set()).add(path));
  }
  return [...found]
    .filter(([warning, scripts]) => !isUsedElsewhere(warning, scripts, joined))
    .map(([warning]) => warning)
    .sort();
}

/**
 * Returns true if a warning says that a script does not use something of a part, and another script with this part uses it.
 * @param {string} warning
 * @param {Set<string>} scripts that have the warning
 * @param {Joined[]} joined
 */
function isUsedElsewhere(warning, scripts, joined) {
  const [, path, code = ''] = /^(.+?):\d+:\d+: \((\w+)\)/.exec(warning) ?? [];
  if (!UNUSED.test(code)) return false;
  return joined.some(
    (script) => !scripts.has(script.path) && script.lines.some(({ file, isPart }) => isPart && file.path === path),
  );
}

function main() {
  const { values } = parseArgs({ options: { root: { type: 'string' } } });
  const here = join(dirname(fileURLToPath(import.meta.url)), '..');
  const warnings = checkLua(resolve(values.root ?? here), join(here, '.luacheckrc'));
  if (warnings.length === 0) return 0;
  console.error(warnings.join('\n'));
  return 1;
}

runAsTool(import.meta.url, main);
