// @ts-check
// node tools/generate-lua.mjs [--check] [--root DIR]
// Writes libs/*/src/scripts/generated.ts from the .lua files next to it and the parts that these include, so that nothing
// reads them at run time.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { camelCase, nameOf, partsOf, readScripts } from './lua-scripts.mjs';
import { runAsTool } from './run-as-tool.mjs';

/** @typedef {import('./lua-scripts.mjs').LuaScript} LuaScript */
/** @typedef {import('./lua-scripts.mjs').LuaFile} LuaFile */

const HEADER = `// Made by \`npm run generate\` from the .lua files in this folder and those that they include. Edit those.
interface Lua {
  readonly source: string;
}
`;

/**
 * Returns the text of a folder's generated.ts, or `undefined` if the folder has no scripts.
 * @param {LuaScript[]} scripts
 */
function textFor(scripts) {
  if (scripts.length === 0) return undefined;
  const files = new Map(scripts.flatMap((script) => filesOf(script).map((file) => [file.path, file])));
  const names = new Map([...files.values()].map((file) => [file, partName(file)]));
  const parts = [...names].map(([file, name]) => `const ${name}: string = ${JSON.stringify(file.text)};\n`);
  const constants = scripts.map((script) => {
    const texts = partsOf(script).map((part) => (typeof part === 'string' ? JSON.stringify(part) : names.get(part)));
    return `export const ${script.constant}: Lua = { source: ${texts.join(' + ')} };\n`;
  });
  return [HEADER, ...parts, ...constants].join('');
}

/** Returns all files that a script is joined from. @param {LuaScript} script */
function filesOf({ source, shared, finish }) {
  return [...shared, ...source, ...finish];
}

/**
 * Returns the name of the constant for the text of a file. It differs from the names of all exported constants.
 * @param {LuaFile} file
 */
function partName(file) {
  const folder = dirname(file.path).endsWith('shared') ? 'shared' : 'source';
  return camelCase(`${folder}-${nameOf(file)}`);
}

/**
 * Writes every generated.ts that is not up to date; with `check` only reports them.
 * @param {string} root
 * @param {{ check?: boolean }} [options]
 * @returns {string[]} one line for each file that was not up to date
 */
export function generateLua(root, { check = false } = {}) {
  const wrong = [];
  for (const [folder, scripts] of readScripts(root)) {
    const path = join(folder, 'generated.ts');
    const wanted = textFor(scripts);
    const present = existsSync(path) ? readFileSync(path, 'utf8') : undefined;
    if (wanted === present) continue;
    const how = wanted === undefined ? 'orphaned' : present === undefined ? 'missing' : 'stale';
    wrong.push(`${relative(root, path)} is ${how}`);
    if (check) continue;
    if (wanted === undefined) rmSync(path);
    else writeFileSync(path, wanted);
  }
  return wrong;
}

function main() {
  const { values } = parseArgs({ options: { check: { type: 'boolean' }, root: { type: 'string' } } });
  const root = resolve(values.root ?? join(dirname(fileURLToPath(import.meta.url)), '..'));
  const wrong = generateLua(root, { check: values.check ?? false });
  if (!values.check || wrong.length === 0) return 0;
  console.error(`${wrong.join('\n')}\nRepair with: npm run generate`);
  return 1;
}

runAsTool(import.meta.url, main);
