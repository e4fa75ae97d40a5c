import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { LuanestError } from 'luanest/script-registry';
import { startCluster, startFaultProxy, startRedis, startSentinel } from 'luanest/testing/servers';
import { InvalidOptionError } from '../../../internal/src';
import { withAdmin } from '../../../../test/support/admin';
import { eventually } from '../../../../test/support/wait';

const ROOT = join(__dirname, '../../../..');
const folder = mkdtempSync(join(tmpdir(), 'luanest-binaries-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Program that prints a version, as `redis-server --version` does. */
function binary(name: string, prints: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\necho '${prints}'\n`, { mode: 0o755 });
  return path;
}

/** Runs a script in a process of its own, and returns what it prints. Jest does not pass on the variables that a test sets. */
function run(script: string): unknown {
  const file = join(mkdtempSync(join(folder, 'script-')), 'script.ts');
  writeFileSync(file, script);
  const entry = join(ROOT, 'test/support/worker-entry.cjs');
  const { stdout, status, stderr } = spawnSync(process.execPath, [entry, file], {
    encoding: 'utf8',
    env: { ...process.env, NODE_PATH: join(ROOT, 'node_modules') },
    timeout: 20_000,
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return JSON.parse(stdout) as unknown;
}

async function errorOf(made: Promise<unknown>): Promise<Error> {
  return made.then(
    () => new Error('It did not fail'),
    (error: Error) => error,
  );
}

const REMEDY =
  'Install Redis 7.0 or newer (apt-get install redis-server, brew install redis), ' +
  'or set the option binary or the environment variable REDIS_SERVER_BIN to the path of a redis-server.';

describe('a redis-server that cannot be used', () => {
  it.each([
    ['startRedis', startRedis],
    ['startCluster', startCluster],
    ['startSentinel', startSentinel],
  ])('%s: missing, the error names the function, the value and the remedy', async (name, start) => {
    const error = await errorOf(start({ binary: '/no/redis-server' }));
    expect(error).toBeInstanceOf(LuanestError);
    expect(error).toMatchObject({
      code: 'TEST_SERVER',
      message: `${name}: "/no/redis-server" or its dynamic loader was not found. ${REMEDY}`,
    });
  });

  it('is too old', async () => {
    const old = binary('old', 'Redis server v=6.2.14 sha=00000000:0 malloc=jemalloc-5.1.0 bits=64 build=0');
    const expected = `startRedis: "${old}" is Redis 6.2.14. Expected Redis 7.0 or newer. ${REMEDY}`;
    expect((await errorOf(startRedis({ binary: old }))).message).toBe(expected);
  });

  it('is another program', async () => {
    const expected = 'startRedis: "echo" prints no version. Expected Redis 7.0 or newer.';
    expect((await errorOf(startRedis({ binary: 'echo' }))).message).toContain(expected);
  });

  it('is looked for in REDIS_SERVER_BIN, and then as redis-server and valkey-server on the PATH', () => {
    const valkey = mkdtempSync(join(folder, 'valkey-'));
    binary(join(basename(valkey), 'valkey-server'), 'Valkey server v=8.1.1 sha=00000000:0 malloc=jemalloc-5.3.0');
    const said = run(`
      const { startRedis } = require('luanest/testing/servers');
      const failure = async (env) => {
        Object.assign(process.env, env);
        return startRedis().catch((error) => error.message);
      };
      (async () => {
        const all = [{ REDIS_SERVER_BIN: '/no/redis' }, { REDIS_SERVER_BIN: '', PATH: '/no' }, { PATH: '${valkey}' }];
        const said = [];
        for (const env of all) said.push(await failure(env));
        console.log(JSON.stringify(said));
      })();
    `) as string[];
    expect(said[0]).toContain('startRedis: "/no/redis" or its dynamic loader was not found');
    expect(said[1]).toContain('startRedis: "redis-server" or its dynamic loader was not found');
    // The program of the test is used, and ends at once.
    expect(said[2]).toMatch(/^The redis-server on port \d+ ended before it was ready/);
  });
});

describe('options of the servers', () => {
  it.each<[string, () => Promise<unknown>, string]>([
    [
      'an unknown name',
      () => startRedis({ prot: 1 } as never),
      'startRedis: There is no option "prot". Known: binary, ',
    ],
    ['a port', () => startRedis({ port: 0 }), 'startRedis: port is 0. Expected an integer from 1 to 65535.'],
    ['an argument', () => startRedis({ args: [1] as never }), 'startRedis: args[0] is 1. Expected a string.'],
    ['arguments', () => startCluster({ args: '--save' as never }), 'startCluster: args is "--save". Expected an array'],
    [
      'a master',
      () => startRedis({ replicaOf: 'localhost' as never }),
      'startRedis: replicaOf is "localhost". Expected',
    ],
    ['a size', () => startCluster({ masters: 0 }), 'startCluster: masters is 0. Expected an integer from 1 to 16.'],
    ['seconds', () => startCluster({ nodeTimeoutMs: 0.5 }), 'from 200 to 600000 ms, not seconds.'],
    [
      'Sentinels',
      () => startSentinel({ sentinels: 0 }),
      'startSentinel: sentinels is 0. Expected an integer from 1 to 5.',
    ],
    ['TLS', () => startFaultProxy('rediss://:secret@host'), 'startFaultProxy: target is "rediss://". Expected a URL'],
    ['no URL', () => startFaultProxy('127.0.0.1:6379'), 'startFaultProxy: target is "127.0.0.1:6379". Expected a URL'],
    ['no address', () => startFaultProxy({} as never), 'startFaultProxy: target is an object. Expected an object with'],
  ])('refuse an invalid value: %s', async (_what, start, message) => {
    const error = await errorOf(start());
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect(error.message).toContain(message);
  });
});

describe('servers that nobody stops', () => {
  /** Starts a server, a Cluster and a proxy, prints what they are, and then does nothing any more. */
  const script = `
    const { startRedis, startCluster, startFaultProxy } = require('luanest/testing/servers');
    (async () => {
      const server = await startRedis();
      const cluster = await startCluster({ masters: 1, replicas: 0 });
      const proxy = await startFaultProxy(server);
      const all = [server, ...cluster.nodes];
      console.log(JSON.stringify({ pids: all.map((one) => one.pid), dirs: all.map((one) => one.dir) }));
    })();
  `;

  it('do not keep the process alive, and leave neither processes nor files when it ends', async () => {
    const { pids, dirs } = run(script) as { pids: number[]; dirs: string[] };
    expect(pids).toHaveLength(2);
    await eventually(() => {
      for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow();
      for (const dir of dirs) expect(existsSync(dir)).toBe(false);
    });
  });
});

it('await using ends a server', async () => {
  const server = await startRedis();
  const proxy = await startFaultProxy(server.url);
  await expect(withAdmin(proxy, (admin) => admin.ping())).resolves.toBe('PONG');
  await proxy[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await expect(withAdmin(server, (admin) => admin.ping())).rejects.toThrow();
  expect(existsSync(server.dir)).toBe(false);
});
