import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chmod, rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { freePort } from '../../support/free-port';
import { waitUntil } from '../../support/wait';
import { makeTempFolder, removeFolder } from './temp-folder';

const run = promisify(execFile);

/** A PostgreSQL server of the test's own, on a free loopback port and in a folder of its own. */
export class PostgresServer {
  private constructor(
    private readonly folder: string,
    private readonly child: ChildProcess,
    /** `postgres://` URL of its database. */
    readonly url: string,
  ) {}

  /** Makes and starts a server. @throws {Error} when PostgreSQL is not installed */
  static async start(): Promise<PostgresServer> {
    const bin = findBinaries();
    const folder = await makeFolder();
    const data = join(folder, 'data');
    // Faster than to make a database for each server.
    await run('cp', ['-a', await emptyDatabase(bin), data]);
    const port = await freePort();
    const settings = ['fsync=off', 'unix_socket_directories=', `port=${port}`, 'listen_addresses=127.0.0.1'];
    const [postgres, ...args] = asPostgres([
      join(bin, 'postgres'),
      '-D',
      data,
      ...settings.flatMap((setting) => ['-c', setting]),
    ]);
    const child = spawn(postgres as string, args, { cwd: folder, stdio: 'ignore' });
    const server = new PostgresServer(folder, child, `postgres://postgres@127.0.0.1:${port}/postgres`);
    await waitUntil('PostgreSQL answers', () => server.answers());
    return server;
  }

  /** Stops the server at once and removes its folder. */
  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    // SIGINT is PostgreSQL's "fast" shutdown: it does not wait for clients.
    this.child.kill('SIGINT');
    await ended;
    await removeFolder(this.folder);
  }

  private async answers(): Promise<boolean> {
    const client = new Client({ connectionString: this.url });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query('SELECT 1');
      return true;
    } catch {
      return false;
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

/** A new empty folder that the server may use. */
async function makeFolder(): Promise<string> {
  const folder = await makeTempFolder();
  if (isRoot()) {
    await run('chown', ['postgres', folder]);
    await chmod(folder, 0o700);
  }
  return folder;
}

/** The data of an empty server, which all test files of this machine copy: made once for each version of PostgreSQL. */
async function emptyDatabase(bin: string): Promise<string> {
  const version = (await run(join(bin, 'postgres'), ['--version'])).stdout.replace(/\W+/g, '-');
  const template = join(tmpdir(), `luanest-empty-${version}${process.getuid?.() ?? ''}`);
  if (existsSync(template)) return template;
  const folder = await makeFolder();
  const draft = join(folder, 'data');
  // Small segments of the log: each copy has one.
  const options = ['-A', 'trust', '-U', 'postgres', '-N', '-E', 'UTF8', '--wal-segsize=1'];
  const [initdb, ...args] = asPostgres([join(bin, 'initdb'), '-D', draft, ...options]);
  await run(initdb as string, args, { cwd: folder });
  // Another test file may have been quicker. Both made the same.
  await rename(draft, template).catch((error: unknown) => {
    if (!existsSync(template)) throw error;
  });
  await removeFolder(folder);
  return template;
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** PostgreSQL refuses to run as root. */
function asPostgres(command: string[]): string[] {
  return isRoot() ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', ...command] : command;
}

/** Debian keeps the server's programs out of the PATH. */
function findBinaries(): string {
  const base = '/usr/lib/postgresql';
  const versions = existsSync(base) ? readdirSync(base).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [...versions.map((version) => join(base, version, 'bin')), ...(process.env.PATH ?? '').split(':')];
  const found = folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')));
  if (found === undefined) throw new Error('PostgreSQL is not installed; on Debian: apt-get install postgresql.');
  return found;
}
