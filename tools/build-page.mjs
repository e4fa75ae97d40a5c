// @ts-check
// node tools/build-page.mjs FOLDER...
// Builds the console's page from libs/console/page into each folder: index.html, console.js, console.css, favicon.svg, and
// licences.txt with the licences of the packages that console.js has inside. See tools/DECISIONS.md: page-is-joined-by-swc
import { minifySync, transformSync } from '@swc/core';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runAsTool } from './run-as-tool.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PAGE = join(ROOT, 'libs/console/page');

/** The module of each package that a browser gets. */
const PACKAGES = new Map([
  ['preact', 'preact/dist/preact.mjs'],
  ['preact/hooks', 'preact/hooks/dist/hooks.mjs'],
  ['htm', 'htm/dist/htm.module.js'],
]);

/** @param {string} name */
const packagePath = (name) => join(ROOT, 'node_modules', name);

/**
 * Returns the path of an imported module.
 * @param {string} specifier
 * @param {string} importer
 */
function resolveImport(specifier, importer) {
  if (specifier.startsWith('.')) return join(dirname(importer), specifier);
  const file = PACKAGES.get(specifier);
  if (file === undefined) throw new Error(`${importer} imports "${specifier}". Expected a path, or one of PACKAGES.`);
  return packagePath(file);
}

/**
 * Joins a module and all that it imports into one script without imports. Each module becomes a function, which runs when it is
 * first required.
 * @param {string} entry
 */
function joinModules(entry) {
  /** @type {Map<string, number>} */
  const indexes = new Map();
  /** @type {string[]} */
  const bodies = [];
  /** @param {string} path */
  const add = (path) => {
    const known = indexes.get(path);
    if (known !== undefined) return known;
    const index = indexes.size;
    indexes.set(path, index);
    if (!existsSync(path)) throw new Error(`${relative(ROOT, path)} does not exist.`);
    const { code } = transformSync(readFileSync(path, 'utf8'), {
      configFile: false,
      swcrc: false,
      isModule: true,
      jsc: { target: 'es2022', parser: { syntax: 'ecmascript' } },
      module: { type: 'commonjs', strict: true, noInterop: true },
    });
    const body = code
      .replaceAll(/\brequire\("([^"]+)"\)/g, (_, specifier) => `require(${add(resolveImport(specifier, path))})`)
      // What is imported are functions that do not read `this`.
      .replaceAll(/\(0, (\w+\.\w+)\)/g, '$1')
      // Templates of htm, which skips indentation. Other texts have one line.
      .replaceAll(/\n\s+/g, '\n');
    bodies[index] = `function (exports, require) {\n${body}\n}`;
    return index;
  };
  add(entry);
  return `(() => {
const modules = [${bodies.join(',\n')}];
const loaded = [];
const require = (index) => {
  if (loaded[index] === undefined) modules[index]((loaded[index] = {}), require);
  return loaded[index];
};
require(0);
})();`;
}

/** Packages inside console.js, each with the text of its licence. */
function bundledPackages() {
  return ['preact', 'htm'].map((name) => {
    const { version, license } = JSON.parse(readFileSync(packagePath(`${name}/package.json`), 'utf8'));
    return { title: `${name} ${version} (${license})`, text: readFileSync(packagePath(`${name}/LICENSE`), 'utf8') };
  });
}

/**
 * Returns the files of the page by name, as they are sent.
 * @returns {Map<string, string>}
 */
export function buildPage() {
  const packages = bundledPackages();
  const banner = `/*! Contains ${packages.map(({ title }) => title).join(', ')}: see licences.txt */\n`;
  const { code } = minifySync(joinModules(join(PAGE, 'console.js')), {
    compress: true,
    mangle: true,
    format: { comments: false },
  });
  const styles = readdirSync(join(PAGE, 'styles')).sort();
  const css = [...styles.map((name) => readFileSync(join(PAGE, 'styles', name), 'utf8'))].join('\n');
  return new Map([
    ['index.html', readFileSync(join(PAGE, 'index.html'), 'utf8')],
    ['console.js', banner + code],
    ['console.css', withoutSpace(css)],
    ['favicon.svg', readFileSync(join(PAGE, 'favicon.svg'), 'utf8')],
    ['licences.txt', packages.map(({ title, text }) => `${title}\n\n${text.trim()}\n`).join('\n\n')],
  ]);
}

/** Returns a style without comments, and with the space only that separates words. @param {string} css */
const withoutSpace = (css) =>
  css
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([{};,>]) ?/g, '$1')
    .replaceAll(/([\w-]): /g, '$1:')
    .replaceAll(';}', '}')
    .trim();

runAsTool(import.meta.url, (folders) => {
  if (folders.length === 0) throw new Error('Usage: node tools/build-page.mjs FOLDER...');
  for (const [name, content] of buildPage()) {
    for (const folder of folders) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, name), content);
    }
  }
  return 0;
});
