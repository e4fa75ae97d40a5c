// @ts-check
// Reads the Lua scripts of the libs and what they include. `generate-lua.mjs` and `check-lua.mjs` use it.
//
// A script names the shared parts that it needs, one on each line, directly below its header:
//   -- @include clock                         shared/clock.lua of the lib, or else of libs/internal
//   -- @include own-fields or foreign-fields  makes two scripts of one source, each with one of the parts
//   -- @finish finish-grab                    the section `-- @finish` of a source for groups: runs after all calls
// A part may include other parts in its first lines. Each part is joined once, in the order in which it is first needed. A part
// that reads KEYS or ARGV, or includes such a part, runs before the source of each call. Any other part stands above a line
// `-- @call`, so it runs once for each group.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { basename, join, relative } from 'node:path';

const KEBAB_CASE = /^[a-z][a-z0-9]*(-[a-z0-9]+)*\.lua$/;
const DIRECTIVE = /^-- @(include|finish) ([a-z0-9-]+)(?: or ([a-z0-9-]+))?$/;

/** @typedef {{ kind: string, names: string[] }} Directive */
/** @typedef {{ path: string, text: string, directives: Directive[] }} LuaFile  `path` is relative to the root */
/** @typedef {{ constant: string, source: LuaFile[], shared: LuaFile[], finish: LuaFile[] }} LuaScript */

/**
 * Returns the folders `scripts` of all libs that have one.
 * @param {string} root
 */
export function scriptFolders(root) {
  const libs = join(root, 'libs');
  const names = existsSync(libs) ? readdirSync(libs).sort() : [];
  return names.map((name) => join(libs, name, 'src', 'scripts')).filter((folder) => existsSync(folder));
}

/**
 * Reads the scripts of every lib, in the order of their names, each with the parts that it needs.
 * @param {string} root
 * @returns {Map<string, LuaScript[]>} by the folder of the scripts
 * @throws Error if a file or an include is wrong, or if no script includes a part
 */
export function readScripts(root) {
  const scripts = new Map(scriptFolders(root).map((folder) => [folder, scriptsIn(root, folder)]));
  const all = [...scripts.values()].flat();
  const included = new Set(
    all.flatMap(({ source, shared, finish }) => [...source, ...shared, ...finish]).map(({ path }) => path),
  );
  for (const folder of scripts.keys()) {
    const unused = luaFiles(root, join(folder, 'shared')).find(({ path }) => !included.has(path));
    if (unused) throw new Error(`${unused.path} is not included by any script. Include it or delete it.`);
  }
  return scripts;
}

/**
 * @param {string} root
 * @param {string} folder
 * @returns {LuaScript[]}
 */
function scriptsIn(root, folder) {
  const folders = [join(folder, 'shared'), join(root, 'libs', 'internal', 'src', 'scripts', 'shared')];
  const parts = new Map(
    [...folders].reverse().flatMap((from) => luaFiles(root, from).map((file) => [nameOf(file), file])),
  );
  for (const part of parts.values()) {
    if (part.directives.some(({ names }) => names.length > 1))
      throw new Error(`${part.path}: only a script may include "one or the other".`);
  }
  return luaFiles(root, folder).flatMap((file) => {
    if (file.directives.filter(({ names }) => names.length > 1).length > 1)
      throw new Error(`${file.path} has two includes with "or".`);
    const choices = file.directives.find(({ names }) => names.length > 1)?.names ?? [''];
    return choices.map((choice, i) => ({
      constant: constantName(i === 0 ? nameOf(file) : `${nameOf(file)}-${choice}`),
      ...filesOf(file, choice, parts),
    }));
  });
}

/**
 * Returns the files that a script is joined from. A part comes after the parts that it includes itself.
 * @param {LuaFile} script
 * @param {string} choice the part to include where the script names two with `or`
 * @param {Map<string, LuaFile>} parts by name
 */
function filesOf(script, choice, parts) {
  /** @type {Set<LuaFile>} */
  const shared = new Set();
  /** @type {Set<LuaFile>} */
  const source = new Set();
  /** @type {LuaFile[]} */
  const finish = [];
  /** @param {LuaFile} file @param {LuaFile[]} within */
  const addIncludes = (file, within) => {
    for (const { kind, names } of file.directives) {
      const name = names.length > 1 ? choice : /** @type {string} */ (names[0]);
      const part = parts.get(name);
      if (part === undefined) throw new Error(`${file.path} includes ${name}, but no folder shared has ${name}.lua.`);
      const path = [...within, file];
      if (path.includes(part))
        throw new Error(`${part.path} includes itself: ${[...path, part].map(nameOf).join(' -> ')}.`);
      if (shared.has(part) || source.has(part)) continue;
      addIncludes(part, path);
      if (kind === 'finish') finish.push(part);
      else if (isPerCall(part, parts)) source.add(part);
      else shared.add(part);
    }
  };
  addIncludes(script, []);
  return { source: [...source, script], shared: [...shared], finish };
}

/**
 * Returns the text of a script in parts: its files, and the lines that separate its sections.
 * @param {LuaScript} script
 * @returns {(string | LuaFile)[]}
 */
export function partsOf({ shared, source, finish }) {
  const sections = shared.length > 0 || finish.length > 0;
  return [
    ...shared,
    ...(sections ? ['-- @call\n'] : []),
    ...source,
    ...(finish.length > 0 ? ['-- @finish\n', ...finish] : []),
  ];
}

/**
 * Returns true if a part must run with each call, since it reads KEYS or ARGV.
 * @param {LuaFile | undefined} part
 * @param {Map<string, LuaFile>} parts by name
 * @returns {boolean}
 */
function isPerCall(part, parts) {
  if (part === undefined) return false;
  const code = part.text.replace(/^\s*--.*$/gm, '');
  return (
    /\b(KEYS|ARGV)\b/.test(code) || part.directives.some(({ names: [name = ''] }) => isPerCall(parts.get(name), parts))
  );
}

/**
 * Reads the .lua files of a folder, in the order of their names.
 * @param {string} root
 * @param {string} folder
 * @returns {LuaFile[]}
 */
function luaFiles(root, folder) {
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.lua')) : [];
  return files.sort().map((name) => {
    const path = relative(root, join(folder, name));
    if (!KEBAB_CASE.test(name))
      throw new Error(
        `${path} must be named in kebab-case: lower-case letters, digits and single dashes, with a letter first.`,
      );
    const text = readSource(join(folder, name), path);
    return { path, text, directives: directivesOf(path, text) };
  });
}

/**
 * Reads a source file.
 * @param {string} file
 * @param {string} path name of the file in errors
 * @throws Error if the file is not UTF-8, or has carriage returns
 */
function readSource(file, path) {
  const bytes = readFileSync(file);
  const source = bytes.toString('utf8');
  if (!Buffer.from(source, 'utf8').equals(bytes)) throw new Error(`${path} is not UTF-8.`);
  // Other line ends would change the SHA1 hash of the script.
  if (source.includes('\r')) throw new Error(`${path} has carriage returns. Lines must end in LF alone.`);
  return source;
}

/**
 * Returns the directives of a file (`-- @include`, `-- @finish`). They must come before the first line of code.
 * @param {string} path
 * @param {string} text
 * @returns {Directive[]}
 */
function directivesOf(path, text) {
  const header = /^--\[\[[\s\S]*?\]\]\n?/.exec(text)?.[0] ?? '';
  const lines = text.slice(header.length).split('\n');
  const firstCode = lines.findIndex((line) => line.trim() !== '' && !line.startsWith('--'));
  /** @type {Directive[]} */
  const directives = [];
  for (const [i, line] of lines.entries()) {
    if (!/^\s*--\s*@/.test(line)) continue;
    const [, kind, ...names] = DIRECTIVE.exec(line) ?? [];
    const known = names.filter((name) => name !== undefined);
    if (kind === undefined || (kind === 'finish' && known.length > 1)) {
      throw new Error(
        `${path}: "${line.trim()}" must be "-- @include NAME", "-- @include NAME or OTHER" or "-- @finish NAME".`,
      );
    }
    if (firstCode !== -1 && i > firstCode)
      throw new Error(`${path}: "${line}" must come before the first line of code.`);
    directives.push({ kind, names: known });
  }
  const names = directives.flatMap((directive) => directive.names);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) throw new Error(`${path} includes ${twice} twice.`);
  return directives;
}

/** Returns the name of a file without its folder and `.lua`. @param {LuaFile} file */
export function nameOf({ path }) {
  return basename(path, '.lua');
}

/** @param {string} name in kebab-case */
function constantName(name) {
  return `${camelCase(name)}Lua`;
}

/** @param {string} name in kebab-case */
export function camelCase(name) {
  return name.replace(/-([a-z0-9])/g, (_, letter) => letter.toUpperCase());
}
