// @ts-check
// node tools/ensure.mjs [--or-redis-url] <redis-server | luacheck | postgresql | chromium | promtool>...
// Finds the programs that the tests and checks need. As root on Debian or Ubuntu it installs missing programs. Elsewhere it
// prints how to install them.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { howToInstall, tools } from './ensure-texts.mjs';
import { runAsTool } from './run-as-tool.mjs';

/**
 * @typedef {keyof typeof tools} Tool
 * @typedef {Record<string, string | undefined>} Env
 * @typedef {{ env?: Env, isRoot?: boolean, orRedisUrl?: boolean, say?: (line: string) => void }} EnsureOptions
 */

const MIN_REDIS_MAJOR = 7;
const DEBIAN_POSTGRES_DIR = '/usr/lib/postgresql';

// Debian's packages call these commands to start a service and to create a database cluster. Tests need neither, so the
// commands are replaced by empty scripts.
const CALLS_TO_SILENCE = ['invoke-rc.d', 'deb-systemd-invoke', 'pg_createcluster'];

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * @param {string} name
 * @param {Env} env
 */
function onPath(name, env) {
  const folders = (env.PATH ?? '').split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/**
 * Finds a PostgreSQL server that has `initdb` next to it. Debian puts both into a folder for each version, outside the PATH.
 * @param {Env} env
 */
function findPostgres(env) {
  /** @type {string[]} */
  let versions = [];
  try {
    versions = readdirSync(DEBIAN_POSTGRES_DIR).sort((a, b) => Number(b) - Number(a));
  } catch {
    // Only Debian and systems made from it have the folder.
  }
  const candidates = [
    env.POSTGRES_BIN_DIR && join(env.POSTGRES_BIN_DIR, 'postgres'),
    onPath('postgres', env),
    ...versions.map((version) => join(DEBIAN_POSTGRES_DIR, version, 'bin', 'postgres')),
  ];
  return candidates.find((path) => path && isExecutable(path) && isExecutable(join(dirname(path), 'initdb')));
}

/**
 * Returns the path of a tool's binary; `undefined` if it was not found.
 * @param {Tool} tool
 * @param {Env} [env]
 * @returns {string | undefined}
 */
export function findBinary(tool, env = process.env) {
  if (tool === 'chromium' && env.CHROMIUM_BIN) {
    return isExecutable(env.CHROMIUM_BIN) ? env.CHROMIUM_BIN : onPath(env.CHROMIUM_BIN, env);
  }
  if (tool === 'postgresql') return findPostgres(env) || undefined;
  if (tool === 'redis-server' && env.REDIS_SERVER_BIN) {
    return isExecutable(env.REDIS_SERVER_BIN) ? env.REDIS_SERVER_BIN : onPath(env.REDIS_SERVER_BIN, env);
  }
  return onPath(tool, env);
}

/**
 * Returns the problem of a redis-server binary: it is too old, or another program. `undefined` without a problem.
 * @param {string} path
 * @returns {string | undefined}
 */
function problemWithRedis(path) {
  const { stdout, error } = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 10_000 });
  const version = /\bv=(\d+)\.\S+/.exec(stdout ?? '');
  if (!version) return `${path} --version does not answer like a redis-server${error ? `: ${error.message}` : '.'}`;
  if (Number(version[1]) >= MIN_REDIS_MAJOR) return undefined;
  return (
    `${path} is Redis ${version[0].slice(2)}, and luanest needs ${MIN_REDIS_MAJOR}.0 or newer. Install a newer one ` +
    '(https://redis.io/docs/latest/operate/oss_and_stack/install/) or name it in REDIS_SERVER_BIN.'
  );
}

/**
 * Installs Debian packages without starting their services.
 * @param {string[]} packages
 * @param {Env} env
 * @returns {string | undefined} the problem, if there was one
 */
function aptInstall(packages, env) {
  const silenced = mkdtempSync(join(tmpdir(), 'luanest-apt-'));
  try {
    for (const name of CALLS_TO_SILENCE) writeFileSync(join(silenced, name), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
    const path = `${silenced}:/usr/sbin:/usr/bin:/sbin:/bin`;
    const options = ['-q', '-o', 'DPkg::Lock::Timeout=300', '-o', `DPkg::Path=${path}`];
    /** @param {string[]} command */
    const aptGet = (command) =>
      spawnSync(/** @type {string} */ (onPath('apt-get', env)), [...options, ...command], {
        env: { ...env, DEBIAN_FRONTEND: 'noninteractive' },
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
        maxBuffer: 64 * 1024 * 1024,
      });
    // `update` fails if any source is unreachable. That matters only if `install` fails, too.
    aptGet(['update']);
    const { status, stderr, error } = aptGet(['install', '-y', '--no-install-recommends', ...packages]);
    if (status === 0) return undefined;
    return `apt-get failed: ${(stderr || error?.message || `it ended with exit status ${status}`).trim()}`;
  } finally {
    rmSync(silenced, { recursive: true });
  }
}

/**
 * Installs the Debian packages of missing tools. Does nothing without root or apt-get.
 * @param {Tool[]} missing
 * @param {Required<Pick<EnsureOptions, 'env' | 'isRoot' | 'say'>>} options
 * @returns {string | undefined} the problem, if there was one
 */
function installMissing(missing, { env, isRoot, say }) {
  if (missing.length === 0 || !isRoot || !onPath('apt-get', env)) return undefined;
  const packages = missing.flatMap((tool) => tools[tool].debian.split(' '));
  say(
    `${missing.join(', ')} not found: installing the Debian package${packages.length > 1 ? 's' : ''} ${packages.join(', ')}.`,
  );
  return aptInstall(packages, env);
}

/**
 * Finds tools, and installs missing ones if it can.
 * @param {Tool[]} wanted
 * @param {EnsureOptions} [options]
 * @returns {string[]} the problems; empty if all tools were found
 */
export function ensure(wanted, options = {}) {
  const { env = process.env, isRoot = process.getuid?.() === 0, orRedisUrl = false, say = console.error } = options;
  const needed = wanted.filter((tool) => !(tool === 'redis-server' && orRedisUrl && env.REDIS_URL));
  const named = needed.includes('redis-server') && env.REDIS_SERVER_BIN;
  if (named && !findBinary('redis-server', env))
    return [`REDIS_SERVER_BIN is ${named}, which is not an executable file, nor a command on the PATH.`];
  const missing = needed.filter((tool) => !findBinary(tool, env));
  const failure = installMissing(missing, { env, isRoot, say });
  const problems = failure === undefined ? [] : [failure];
  for (const tool of needed) {
    const path = findBinary(tool, env);
    const problem =
      path === undefined ? howToInstall(tool, { orRedisUrl }) : tool === 'redis-server' && problemWithRedis(path);
    if (problem) problems.push(problem);
  }
  return problems;
}

/** @param {string[]} args */
function main(args) {
  const wanted = args.filter((arg) => arg !== '--or-redis-url');
  const unknown = wanted.filter((arg) => !Object.hasOwn(tools, arg));
  if (wanted.length === 0 || unknown.length > 0) {
    console.error(`Usage: node tools/ensure.mjs [--or-redis-url] <${Object.keys(tools).join(' | ')}>...`);
    return 2;
  }
  const problems = ensure(/** @type {Tool[]} */ (wanted), { orRedisUrl: wanted.length < args.length });
  if (problems.length > 0) console.error(problems.join('\n\n'));
  return problems.length > 0 ? 1 : 0;
}

runAsTool(import.meta.url, main);
