import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensure, findBinary } from './ensure.mjs';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'luanest-ensure-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** Puts a shell script on the faked PATH. */
function fake(name: string, body: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  return path;
}

const redis = (version: string): string => `echo "Redis server v=${version} sha=00000000:0 malloc=libc bits=64"`;

function run(args: string[], env: Record<string, string> = {}): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(__dirname, 'ensure.mjs'), ...args], {
    encoding: 'utf8',
    env: { PATH: folder, ...env },
  });
  return { status, output: stdout + stderr };
}

describe('tools/ensure.mjs', () => {
  it('is silent when everything is there', () => {
    fake('redis-server', redis('7.0.0'));
    fake('luacheck', 'exit 0');
    expect(run(['redis-server', 'luacheck'])).toEqual({ status: 0, output: '' });
  });

  it('takes Valkey, and the versions after 7', () => {
    fake('redis-server', 'echo "Valkey server v=8.1.3 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64"');
    expect(run(['redis-server'])).toEqual({ status: 0, output: '' });
    fake('redis-server', redis('10.2.1'));
    expect(run(['redis-server'])).toEqual({ status: 0, output: '' });
  });

  it('refuses a server that is too old, with the version seen and the way out', () => {
    const path = fake('redis-server', redis('6.2.14'));
    const { status, output } = run(['redis-server']);
    expect(status).toBe(1);
    expect(output).toContain(`${path} is Redis 6.2.14, and luanest needs 7.0 or newer`);
    expect(output).toContain('REDIS_SERVER_BIN');
  });

  it('refuses a program that is not Redis', () => {
    fake('redis-server', 'echo hello');
    expect(run(['redis-server'])).toEqual({ status: 1, output: expect.stringContaining('does not answer like') });
  });

  it('says in one message how to install what is missing, on each system', () => {
    const { status, output } = run(['redis-server', 'luacheck']);
    expect(status).toBe(1);
    expect(output).toContain('sudo apt-get install -y redis-server\n');
    expect(output).toContain('sudo dnf install -y valkey-compat-redis');
    expect(output).toContain('sudo apk add redis\n');
    expect(output).toContain('brew install redis\n');
    expect(output).toContain('sudo apt-get install -y lua-check\n');
    expect(output).not.toContain('REDIS_URL');
  });

  it('takes REDIS_URL instead of a server only with --or-redis-url', () => {
    const env = { REDIS_URL: 'redis://127.0.0.1:6379' };
    expect(run(['--or-redis-url', 'redis-server'], env)).toEqual({ status: 0, output: '' });
    expect(run(['redis-server'], env).status).toBe(1);
    expect(run(['--or-redis-url', 'redis-server'], { REDIS_URL: '' })).toEqual({
      status: 1,
      output: expect.stringContaining('Or set REDIS_URL'),
    });
  });

  it('prefers REDIS_SERVER_BIN, and never falls back when that is wrong', () => {
    fake('redis-server', redis('6.0.0'));
    const named = fake('redis-server-7', redis('7.2.4'));
    expect(run(['redis-server'], { REDIS_SERVER_BIN: named })).toEqual({ status: 0, output: '' });
    expect(run(['redis-server'], { REDIS_SERVER_BIN: 'redis-server-7' })).toEqual({ status: 0, output: '' });
    const wrong = run(['redis-server'], { REDIS_SERVER_BIN: join(folder, 'nothing') });
    expect(wrong).toEqual({ status: 1, output: expect.stringContaining('nothing, which is not an executable file') });
  });

  it.each([[[]], [['--or-redis-url']], [['redis']], [['luacheck', '--force']]])('explains itself after %j', (args) => {
    expect(run(args)).toEqual({ status: 2, output: expect.stringContaining('Usage:') });
  });
});

describe('findBinary', () => {
  it('takes a PostgreSQL only with initdb next to it', () => {
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'postgres'), '', { mode: 0o755 });
    const env = { PATH: folder, POSTGRES_BIN_DIR: bin };
    expect(findBinary('postgresql', env)).not.toBe(join(bin, 'postgres'));
    writeFileSync(join(bin, 'initdb'), '', { mode: 0o755 });
    expect(findBinary('postgresql', env)).toBe(join(bin, 'postgres'));
  });

  it('passes over folders and files that cannot be executed', () => {
    mkdirSync(join(folder, 'luacheck'));
    const other = mkdtempSync(join(folder, 'other-'));
    writeFileSync(join(other, 'luacheck'), '', { mode: 0o644 });
    expect(findBinary('luacheck', { PATH: `${folder}:${other}` })).toBeUndefined();
  });
});

describe('installing with apt-get', () => {
  let said: string[];
  const ensureAs = (isRoot: boolean, tools: Parameters<typeof ensure>[0]): string[] =>
    ensure(tools, { isRoot, env: { PATH: folder }, say: (line) => said.push(line) });
  const log = (): string => readFileSync(join(folder, 'log'), 'utf8');

  beforeEach(() => {
    said = [];
    // "$5" is DPkg::Path=<folder of the silenced calls>:...
    fake(
      'apt-get',
      `
      echo "$DEBIAN_FRONTEND $@" >> ${folder}/log
      silenced="\${5#DPkg::Path=}"; silenced="\${silenced%%:*}"
      if [ "$6" = install ]; then
        for name in invoke-rc.d deb-systemd-invoke pg_createcluster; do "$silenced/$name" start || exit 1; done
        /bin/ln -s ${fake('installed', redis('7.0.15'))} ${folder}/redis-server
      fi`,
    );
  });

  it('installs the package as root, without its service, and says so in one line', () => {
    expect(ensureAs(true, ['redis-server'])).toEqual([]);
    expect(said).toEqual(['redis-server not found: installing the Debian package redis-server.']);
    const [update, install, ...more] = log().trim().split('\n');
    expect(more).toEqual([]);
    expect(update).toMatch(/^noninteractive -q .* update$/);
    expect(install).toMatch(/^noninteractive -q .* install -y --no-install-recommends redis-server$/);
    const silenced = /DPkg::Path=([^:]+):\/usr\/sbin:/.exec(install!)![1]!;
    expect(existsSync(silenced)).toBe(false);
    expect(ensureAs(true, ['redis-server'])).toEqual([]);
    expect(said).toHaveLength(1);
  });

  it('installs all that is missing at once', () => {
    expect(ensureAs(true, ['redis-server', 'luacheck'])).toEqual([expect.stringContaining('luacheck was not found')]);
    expect(log()).toContain('install -y --no-install-recommends redis-server lua-check\n');
  });

  it('touches nothing without root', () => {
    expect(ensureAs(false, ['redis-server'])).toEqual([
      expect.stringContaining('sudo apt-get install -y redis-server'),
    ]);
    expect(existsSync(join(folder, 'log'))).toBe(false);
    expect(said).toEqual([]);
  });

  it('installs though a package source is out of reach', () => {
    const reachable = readFileSync(join(folder, 'apt-get'), 'utf8').replace('#!/bin/sh', '');
    fake('apt-get', `${reachable}\n[ "$6" = install ]`);
    expect(ensureAs(true, ['redis-server'])).toEqual([]);
  });

  it('shows what apt-get said when it fails', () => {
    fake('apt-get', 'echo "E: no network" >&2; exit 100');
    expect(ensureAs(true, ['redis-server'])).toEqual([
      'apt-get failed: E: no network',
      expect.stringContaining('redis-server was not found'),
    ]);
  });
});
