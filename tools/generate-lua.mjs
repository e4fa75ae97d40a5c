// @ts-check
// node tools/generate-lua.mjs [--check] [--root DIR]
// Writes libs/*/src/scripts/generated.ts from the .lua files beside it and in its folder shared/, so that nothing reads
// them at run time.
import { existsSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const HEADER = '// Made by `npm run generate` from the .lua files in this folder. Edit those.\n';
const KEBAB_CASE = /^[a-z][a-z0-9]*(-[a-z0-9]+)*\.lua$/;

/** @param {string} file */
function constantName(file) {
  const words = file.slice(0, -'.lua'.length);
  return `${words.replace(/-([a-z0-9])/g, (_, letter) => letter.toUpperCase())}Lua`;
}

/** @param {string} path */
function readSource(path) {
  const bytes = readFileSync(path);
  const source = bytes.toString('utf8');
  if (!Buffer.from(source, 'utf8').equals(bytes)) throw new Error(`${path} is not UTF-8.`);
  // A checkout with other line ends would give the script another SHA.
  if (source.includes('\r')) throw new Error(`${path} has CRLF line ends; it must have LF.`);
  return source;
}

/**
 * The text of a folder's generated.ts, or `undefined` where there is nothing to generate from.
 * @param {string} folder
 */
function textFor(folder) {
  const lines = [...constantsOf(folder), ...constantsOf(join(folder, 'shared'), 'shared-')];
  return lines.length === 0 ? undefined : HEADER + lines.join('');
}

/**
 * One exported constant for each .lua file of a folder, in the order of their names. Their type spares declarations the text.
 * @param {string} folder
 * @param {string} [prefix] goes before a file's name
 */
function constantsOf(folder, prefix = '') {
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.lua')) : [];
  const wrong = files.find((name) => !KEBAB_CASE.test(name));
  if (wrong) throw new Error(`${join(folder, wrong)} must be named in kebab-case: letters, digits and single dashes.`);
  return files
    .sort()
    .map(
      (name) =>
        `export const ${constantName(prefix + name)}: string = ${JSON.stringify(readSource(join(folder, name)))};\n`,
    );
}

/** @param {string} root */
function scriptFolders(root) {
  const libs = join(root, 'libs');
  const names = existsSync(libs) ? readdirSync(libs).sort() : [];
  return names.map((name) => join(libs, name, 'src', 'scripts')).filter((folder) => existsSync(folder));
}

/**
 * Brings every generated.ts up to date, or with `check` only says which are not.
 * @param {string} root
 * @param {{ check?: boolean }} [options]
 * @returns {string[]} one line for each file that was wrong
 */
export function generateLua(root, { check = false } = {}) {
  const wrong = [];
  for (const folder of scriptFolders(root)) {
    const path = join(folder, 'generated.ts');
    const wanted = textFor(folder);
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
  console.error(`${wrong.join('\n')}\nMend with: npm run generate`);
  return 1;
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    process.exitCode = main();
  } catch (error) {
    console.error(/** @type {Error} */ (error).message);
    process.exitCode = 1;
  }
}
