// @ts-check
// npm run sizes: writes docs/sizes.md. Installs the package, and what apps use today, each into a folder of its own next to Nest, counts
// packages and bytes, and measures in new processes what an import loads. With names of doors, prints what they load from dist.
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runAsTool } from './run-as-tool.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PAGE = join(ROOT, 'docs', 'sizes.md');
const PROBE = fileURLToPath(new URL('load-probe.cjs', import.meta.url));
const ROUNDS = 3;
/** Packages of every app, which are not counted. */
const NEST = ['@nestjs/common@12', '@nestjs/core@12', '@nestjs/platform-express@12', 'reflect-metadata', 'rxjs'];

/**
 * Packages that an app installs, and what it imports of them.
 * @typedef {{ install: readonly string[], load: readonly string[] }} Contender
 * @typedef {{ files: number, bytes: number }} Loaded
 * @typedef {{ cpuMs: number, heapBytes: number }} Cost
 */

/** @type {Readonly<Record<string, Contender>>} */
const OTHERS = {
  '@nestjs/throttler, in memory': { install: ['@nestjs/throttler'], load: ['@nestjs/throttler'] },
  '@nestjs/throttler on Redis': {
    install: ['@nestjs/throttler', '@nest-lab/throttler-storage-redis', 'ioredis'],
    load: ['@nestjs/throttler', '@nest-lab/throttler-storage-redis'],
  },
  'rate-limiter-flexible': {
    install: ['rate-limiter-flexible', 'ioredis'],
    load: ['rate-limiter-flexible'],
  },
  redlock: { install: ['redlock@5.0.0-beta.2', 'ioredis'], load: ['redlock'] },
  '@nestjs/bullmq': { install: ['@nestjs/bullmq', 'bullmq'], load: ['@nestjs/bullmq', 'bullmq'] },
  '@nestjs/schedule, on every pod': { install: ['@nestjs/schedule'], load: ['@nestjs/schedule'] },
};

/** @returns {{ name: string, version: string, exports: Record<string, unknown>, dependencies: Record<string, string> }} */
const manifest = () => JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

/** Returns the imports of the package, as users write them. */
export const doors = () =>
  Object.keys(manifest().exports)
    .filter((path) => path !== '.' && path !== './package.json')
    .map((path) => path.replace('.', 'luanest'));

/**
 * Runs the probe in a new process.
 * @param {string} folder in which the modules are found
 * @param {'files' | 'cost'} what
 * @param {readonly string[]} modules
 */
const probe = (folder, what, modules) =>
  JSON.parse(
    execFileSync(process.execPath, ['--expose-gc', '--no-warnings', PROBE, what, ...modules], {
      cwd: folder,
      encoding: 'utf8',
    }),
  );

/**
 * Returns how many files an import loads in addition to Nest and the client of Redis, and their bytes.
 * @param {string} folder
 * @param {readonly string[]} modules
 * @returns {Loaded}
 */
export const loadedBy = (folder, modules) => probe(folder, 'files', modules);

/** @param {number[]} values */
const median = (values) => /** @type {number} */ (values.sort((a, b) => a - b)[Math.floor(values.length / 2)]);

/**
 * Returns the median cost of imports. Each round measures all of them, so that a busy machine slows all.
 * @param {readonly { folder: string, modules: readonly string[] }[]} imports
 * @returns {Cost[]}
 */
function costs(imports) {
  const rounds = Array.from({ length: ROUNDS }, () =>
    imports.map(({ folder, modules }) => /** @type {Cost} */ (probe(folder, 'cost', modules))),
  );
  return imports.map((_, i) => ({
    cpuMs: median(rounds.map((round) => round[i]?.cpuMs ?? 0)),
    heapBytes: median(rounds.map((round) => round[i]?.heapBytes ?? 0)),
  }));
}

/** Returns the packages in a folder's node_modules, those within packages too. @param {string} folder */
function packagesIn(folder) {
  const found = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /(^|\/)node_modules\/(@[^/]+\/)?[^/@.][^/]*\/package\.json$/.test(path),
  );
  return new Set(found);
}

/** @param {string} folder */
function bytesIn(folder) {
  let bytes = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += statSync(join(entry.parentPath, entry.name)).size;
  }
  return bytes;
}

/**
 * Installs packages next to Nest.
 * @param {string} folder
 * @param {readonly string[]} packages
 */
function install(folder, packages) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  const args = [
    'install',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--legacy-peer-deps',
    '--prefer-offline',
    '--loglevel=error',
  ];
  execFileSync('npm', [...args, ...NEST, ...packages], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
}

/** @param {string} folder @param {string} name */
const versionOf = (folder, name) =>
  JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')).version;

/** Returns a row of a table. @param {readonly (string | number)[]} cells */
const row = (cells) => `| ${cells.join(' | ')} |`;
const kB = (/** @type {number} */ bytes) => Math.round(bytes / 1_000).toLocaleString('en');
const MB = (/** @type {number} */ bytes) => (Math.max(bytes, 0) / 1_000_000).toFixed(1);

/** @param {string} work folder for the installations */
async function page(work) {
  const { name, version, dependencies } = manifest();
  const pack = execFileSync('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', work], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  const [{ filename = '' } = {}] = JSON.parse(pack);
  /** @type {Record<string, Contender>} */
  const all = {
    [`${name}, with ioredis`]: { install: [join(work, filename), 'ioredis'], load: ['luanest/rate-limit'] },
    [`${name}, with node-redis`]: { install: [join(work, filename), 'redis'], load: ['luanest/rate-limit'] },
    ...OTHERS,
  };
  const base = join(work, 'nest');
  install(base, []);
  const folders = new Map(Object.keys(all).map((contender, i) => [contender, join(work, String(i))]));
  for (const [contender, folder] of folders) install(folder, all[contender]?.install ?? []);

  // Some doors need an optional peer.
  const peers = join(work, 'peers');
  const optional = ['@opentelemetry/api', '@nestjs/throttler', '@nestjs/schedule', '@nestjs/microservices@12'];
  install(peers, [join(work, filename), 'ioredis', ...optional]);
  const others = Object.entries(OTHERS).map(([contender, { load }]) => ({
    contender,
    folder: /** @type {string} */ (folders.get(contender)),
    modules: load,
  }));
  const imports = [...doors().map((door) => ({ contender: door, folder: peers, modules: [door] })), ...others];
  const measured = costs(imports);
  const loadRows = imports.map(({ contender, folder, modules }, i) => {
    const { files, bytes } = loadedBy(folder, modules);
    const { cpuMs, heapBytes } = /** @type {Cost} */ (measured[i]);
    return row([
      contender.startsWith('luanest/') ? `\`${contender}\`` : contender,
      files,
      kB(bytes),
      Math.round(cpuMs),
      MB(heapBytes),
    ]);
  });

  const [nestPackages, nestBytes] = [packagesIn(base).size, bytesIn(base)];
  const installRows = [...folders].map(([contender, folder]) => {
    const names = (all[contender]?.install ?? []).map((spec) =>
      spec.includes('.tgz') ? name : spec.replace(/(?<=.)@.*$/, ''),
    );
    const versions = names.map((each) => `${each} ${versionOf(folder, each)}`).join(', ');
    return row([contender, versions, packagesIn(folder).size - nestPackages, MB(bytesIn(folder) - nestBytes)]);
  });

  const own = Object.keys(dependencies).length;
  const text = `# Sizes

\`npm run sizes\` in the repository writes this page. It was run on ${new Date().toISOString().slice(0, 10)} with ${name} ${version}, Node ${process.versions.node}.

## What is installed

${name} has ${own === 1 ? 'one dependency' : `${own} dependencies`}, ${Object.keys(dependencies)
    .map((each) => `\`${each}\``)
    .join(', ')}. Each row is what \`npm install\` adds to an app that has
Nest 12: its packages, and their bytes on disk. Documents and types count too.

${row(['what', 'versions', 'packages', 'MB'])}
${row(['---', '---', '---', '---'])}
${installRows.join('\n')}

## What is loaded

What an import loads in a process that has loaded Nest and the client of Redis: the number of files of code, their bytes, the CPU time for it,
and the memory that stays in use after a garbage collection. Medians of ${ROUNDS} new processes. Compare times within this table only.
An app that uses several modules loads what they share once.

${row(['import', 'files', 'kB of code', 'CPU ms', 'MB of memory'])}
${row(['---', '---', '---', '---', '---'])}
${loadRows.join('\n')}
`;
  // Loaded here, since Jest cannot load it.
  const { format, resolveConfig } = await import('prettier');
  return format(text, { ...(await resolveConfig(PAGE)), filepath: PAGE });
}

runAsTool(import.meta.url, (args) => {
  if (!existsSync(join(ROOT, 'dist', 'libs'))) throw new Error('There is no dist. Run "npm run build" first.');
  if (args.length > 0) {
    for (const door of args) console.log(door, loadedBy(ROOT, [door]));
    return 0;
  }
  const work = mkdtempSync(join(tmpdir(), 'luanest-sizes-'));
  page(work)
    .then((text) => writeFileSync(PAGE, text))
    .catch((/** @type {Error} */ error) => {
      console.error(error.message);
      process.exitCode = 1;
    })
    .finally(() => rmSync(work, { recursive: true, force: true }));
  return 0;
});
