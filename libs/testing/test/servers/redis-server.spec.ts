import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { withAdmin } from '../../../../test/support/admin';
import { usableBinary } from '../../src/servers/redis-binary';
import { RedisServer as Started } from '../../src/servers/redis-server';
import { GUARD_SCRIPT } from '../../src/servers/process-guard';
import { eventually } from '../../../../test/support/wait';

const servers: RedisServer[] = [];

async function start(options?: Parameters<typeof startRedis>[0]): Promise<RedisServer> {
  const server = await startRedis(options);
  servers.push(server);
  return server;
}

function processExists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

describe('RedisServer', () => {
  it('answers after start, and leaves neither process nor directory after stop, which may be called twice', async () => {
    const server = await start();
    const { pid, dir } = server;
    await expect(withAdmin(server, (admin) => admin.ping())).resolves.toBe('PONG');
    await Promise.all([server.stop(), server.stop()]);
    await server.stop();
    expect(processExists(pid)).toBe(false);
    expect(existsSync(dir)).toBe(false);
    expect(server.live).toBe(false);
    await expect(server.restart()).rejects.toThrow(/was ended by stop/);
  });

  it('restarts on the same port: empty after a kill, whole with an append-only file', async () => {
    const [volatile, durable] = await Promise.all([
      start(),
      start({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] }),
    ]);
    for (const server of [volatile, durable]) {
      const { port, pid } = server;
      await withAdmin(server, (admin) => admin.set('kept', 'yes'));
      await server.kill();
      expect(server.live).toBe(false);
      await expect(withAdmin(server, (admin) => admin.ping())).rejects.toThrow();
      await server.restart();
      expect(server.port).toBe(port);
      expect(server.pid).not.toBe(pid);
    }
    await expect(withAdmin(volatile, (admin) => admin.get('kept'))).resolves.toBeNull();
    await expect(withAdmin(durable, (admin) => admin.get('kept'))).resolves.toBe('yes');
  });

  it('restarts while running', async () => {
    const server = await start();
    const { pid } = server;
    await server.restart();
    expect(server.pid).not.toBe(pid);
    expect(processExists(pid)).toBe(false);
  });

  it('answers nothing while paused, everything after resume, and stops while paused', async () => {
    const server = await start();
    const client = new Redis(server.url);
    try {
      await client.ping();
      server.pause();
      let answered = false;
      const reply = client.incr('n').then((n) => ((answered = true), n));
      await expect(withAdmin(server, (admin) => Promise.race([admin.ping(), shortly()]))).resolves.toBe('silence');
      expect(answered).toBe(false);
      server.resume();
      await expect(reply).resolves.toBe(1);
    } finally {
      client.disconnect();
    }
    const { pid } = server;
    server.pause();
    await server.stop();
    expect(processExists(pid)).toBe(false);
  });

  it('shows the log of the server when it does not start', async () => {
    await expect(start({ args: ['--no-such-option', 'yes'] })).rejects.toThrow(/no-such-option/);
    const server = await start();
    await expect(start({ port: server.port })).rejects.toThrow(/Address already in use/);
  });
});

describe('a replica', () => {
  it('has the data of its master from the start, is promoted, and follows another master', async () => {
    const master = await start();
    await withAdmin(master, (admin) => admin.set('n', 1));
    const replica = await start({ replicaOf: master });
    await expect(withAdmin(replica, (admin) => admin.get('n'))).resolves.toBe('1');
    await expect(withAdmin(replica, (admin) => admin.incr('n'))).rejects.toThrow(/READONLY/);

    await master.kill();
    await replica.promote();
    await expect(withAdmin(replica, (admin) => admin.incr('n'))).resolves.toBe(2);
    await master.restart();
    await master.follow(replica);
    await expect(withAdmin(master, (admin) => admin.get('n'))).resolves.toBe('2');
    await master.restart();
    await expect(withAdmin(master, (admin) => admin.get('n'))).resolves.toBe('2');
  });

  it('that never gets the data of its master does not start', async () => {
    const nobody = { host: '127.0.0.1', port: 1 };
    const settings = {
      binary: await usableBinary('test'),
      args: [],
      replicaOf: nobody,
      startTimeoutMs: 300,
    };
    await expect(Started.start(settings, undefined)).rejects.toThrow(
      /did not reply and copy the data of its master within 300 ms/,
    );
  });
});

describe('the guard of a process', () => {
  function guarded(): { victim: ChildProcess; guard: ChildProcess; dir: string } {
    const dir = mkdtempSync(join(tmpdir(), 'luanest-guard-'));
    const victim = spawn('sleep', ['60'], { stdio: 'ignore' });
    const guard = spawn('/bin/sh', ['-c', GUARD_SCRIPT, 'guard', String(victim.pid), dir]);
    return { victim, guard, dir };
  }

  it('kills it and removes its directory when the pipe closes', async () => {
    const { victim, guard, dir } = guarded();
    const died = once(victim, 'exit');
    guard.stdin?.end();
    await expect(died).resolves.toEqual([null, 'SIGKILL']);
    await eventually(() => expect(existsSync(dir)).toBe(false));
  });

  it('leaves it alone once it is released', async () => {
    const { victim, guard, dir } = guarded();
    guard.stdin?.end('released\n');
    await once(guard, 'exit');
    expect(victim.exitCode).toBeNull();
    expect(victim.signalCode).toBeNull();
    expect(existsSync(dir)).toBe(true);
    victim.kill('SIGKILL');
    rmSync(dir, { recursive: true });
  });
});

function shortly(): Promise<string> {
  return new Promise((resolve) => setTimeout(() => resolve('silence'), 200));
}
