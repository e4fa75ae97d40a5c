// @ts-check
// Fetches Redis and Valkey of newer Debian releases and unpacks them into a folder. Nothing is installed.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Servers of each release: the package, and the program in it. */
const RELEASES = {
  trixie: { redis: 'redis-server', valkey: 'valkey-server' },
  sid: { valkey: 'valkey-server' },
};
const ARCHITECTURES = {
  x64: ['x86_64-linux-gnu', 'lib64/ld-linux-x86-64.so.2'],
  arm64: ['aarch64-linux-gnu', 'lib/ld-linux-aarch64.so.1'],
};

/** Returns the address of the archive that this system uses. */
function mirror() {
  const folder = '/etc/apt/sources.list.d';
  const files = [
    ...(existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []),
    '/etc/apt/sources.list',
  ];
  const texts = files.filter((file) => existsSync(file)).map((file) => readFileSync(file, 'utf8'));
  const found = texts
    .map((text) => /^(?:URIs: *|deb +(?:\[[^\]]*\] +)?)(\S+\/debian)\/?\s/m.exec(text)?.[1])
    .find(Boolean);
  if (found === undefined)
    throw new Error(
      'No archive of Debian was found in /etc/apt. On other systems name the servers with LUANEST_SERVERS.',
    );
  return found;
}

/**
 * @param {string} root
 * @param {string} release
 */
function aptOf(root, release) {
  for (const folder of [
    'etc/apt/sources.list.d',
    'etc/apt/preferences.d',
    'etc/apt/apt.conf.d',
    'lists/partial',
    'archives/partial',
  ])
    mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, 'status'), '');
  const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
  writeFileSync(join(root, 'etc/apt/sources.list'), `deb [signed-by=${keyring}] ${mirror()} ${release} main\n`);
  const options = {
    'Dir::Etc': join(root, 'etc/apt'),
    'Dir::Etc::SourceList': join(root, 'etc/apt/sources.list'),
    'Dir::State': root,
    'Dir::State::Lists': join(root, 'lists'),
    'Dir::State::status': join(root, 'status'),
    'Dir::Cache': root,
    'Dir::Cache::Archives': join(root, 'archives'),
    // A mirror may be behind.
    'Acquire::Check-Valid-Until': 'false',
    // A user other than root has no user `_apt`.
    'APT::Sandbox::User': '',
  };
  return Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
}

/**
 * Unpacks the servers into a folder, unless they are there.
 *
 * @param {string} folder
 * @param {(line: string) => void} say
 * @returns {string[]} paths of programs that start the servers
 */
export function debianServers(folder, say = console.log) {
  const architecture = ARCHITECTURES[/** @type {keyof typeof ARCHITECTURES} */ (process.arch)];
  if (process.platform !== 'linux' || !architecture) throw new Error('Only Linux on x64 and arm64 has these packages.');
  const [triplet = '', loader = ''] = architecture;
  /** @type {string[]} */
  const programs = [];
  for (const [release, servers] of Object.entries(RELEASES)) {
    const root = join(folder, release);
    const starters = Object.values(servers).map((name) => join(root, name));
    programs.push(...starters);
    if (starters.every((file) => existsSync(file))) continue;
    say(`Fetching ${Object.values(servers).join(' and ')} of Debian ${release}.`);
    const options = aptOf(root, release);
    /** @param {string[]} args */
    const apt = (...args) =>
      execFileSync('apt-get', [...options, ...args], {
        cwd: root,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      });
    apt('-qq', 'update');
    // With an empty state all packages are missing, so this lists all libraries, libc included.
    const tools = Object.keys(servers).map((name) => `${name}-tools`);
    const listed = apt(
      '-qq',
      '--no-install-recommends',
      '--print-uris',
      'install',
      ...Object.values(servers),
      ...tools,
    );
    const names = [...listed.matchAll(/^'[^']*' (\S+?)_\S+\.deb /gm)].map(([, name]) => name ?? '');
    const needed = names.filter(
      (name) => /^(lib|redis|valkey|zlib)/.test(name) && !/^lib(perl|pam|audit|mount|blkid|apparmor|device)/.test(name),
    );
    apt('-qq', 'download', ...needed);
    for (const file of readdirSync(root).filter((name) => name.endsWith('.deb')))
      execFileSync('dpkg-deb', ['-x', join(root, file), root]);
    const libraries = [`usr/lib/${triplet}`, `lib/${triplet}`].map((path) => join(root, path)).join(':');
    const link = [`usr/${loader}`, loader].map((path) => join(root, path)).find((path) => existsSync(path)) ?? '';
    for (const starter of starters) {
      const program = join(root, 'usr/bin', starter.slice(root.length + 1));
      writeFileSync(
        starter,
        `#!/bin/sh\nexec ${link} --library-path ${libraries} --argv0 ${program} ${program} "$@"\n`,
      );
      chmodSync(starter, 0o755);
    }
  }
  return programs;
}
