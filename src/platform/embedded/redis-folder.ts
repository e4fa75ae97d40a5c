import { type ChildProcess, spawn } from 'node:child_process';
import { open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FileLock } from './file-lock';
import { freePort } from './free-port';
import { describeEnd } from '../process-end';
import { makePrivateFolder, readIfPresent, readOrCreateSecret, writePrivateFile } from './private-file';
import { answersPing, type RedisEndpoint } from './redis-inline';

const HOST = '127.0.0.1';
const HIGHEST_PORT = 65_535;
/** Distance from the port of a server to the port of its Cluster bus. */
const BUS_OFFSET = 10_000;

/** Differences of a Cluster server from a single one. */
interface RedisFolderOptions {
  /** File of the password; default: one in the folder. */
  readonly passwordPath?: string;
  /** True for a server of a Cluster: its bus uses the port that is 10,000 higher. Default false. */
  readonly cluster?: boolean;
  readonly config?: readonly string[];
}

/** The embedded Redis could not be started or found. */
export class EmbeddedRedisError extends Error {
  readonly code = 'EMBEDDED_REDIS';

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'EmbeddedRedisError';
  }
}

/**
 * A folder that at most one `redis-server` uses. The server itself holds the lock of the folder, through a file descriptor
 * that it inherits. So the lock ends with the server, and no other process has to watch it. (A child that the server forked to
 * rewrite its file also holds the lock until it ends. That is right: the child writes to the folder.)
 */
export class RedisFolder {
  constructor(
    readonly path: string,
    /** Longest wait for a server that loads its data or ends, ms. Default 30,000. */
    private readonly patienceMs = 30_000,
    private readonly options: RedisFolderOptions = {},
  ) {}

  /**
   * Finds the server of the folder, or starts one.
   *
   * @param port port of a new server; default: the port of the previous server if it is free, else any free port
   * @throws {EmbeddedRedisError} if no server can be started, or the server that holds the folder does not answer
   */
  async ensureServer(port?: number): Promise<RedisEndpoint> {
    await makePrivateFolder(this.path);
    const password = await readOrCreateSecret(this.options.passwordPath ?? join(this.path, 'password'));
    const deadline = Date.now() + this.patienceMs;
    for (;;) {
      const lock = await FileLock.tryExclusive(this.lockPath);
      if (lock !== undefined) return this.startUnder(lock, password, port);
      const known = await this.knownPort();
      const endpoint = known === undefined ? undefined : { host: HOST, port: known, password };
      if (endpoint !== undefined && (await answersPing(endpoint))) return endpoint;
      if (Date.now() > deadline) throw await this.unreachable(known);
      await sleep(50);
    }
  }

  /** Waits until no server uses the folder. @throws {EmbeddedRedisError} if a server still uses it after `patienceMs` */
  async waitUntilEmpty(): Promise<void> {
    const deadline = Date.now() + this.patienceMs;
    for (;;) {
      const lock = await FileLock.tryExclusive(this.lockPath);
      if (lock !== undefined) return lock.release();
      if (Date.now() > deadline)
        throw new EmbeddedRedisError(`The redis-server in ${this.path} did not end within ${this.patienceMs} ms.`);
      await sleep(50);
    }
  }

  /** Highest port of a server. A higher port in address.json, of an earlier start, is not used again. */
  private get highestPort(): number {
    return this.options.cluster === true ? HIGHEST_PORT - BUS_OFFSET : HIGHEST_PORT;
  }

  private get lockPath(): string {
    return join(this.path, 'server.lock');
  }

  /** Starts a server. The lock is held, so no other process starts one or writes the address. */
  private async startUnder(lock: FileLock, password: string, port: number | undefined): Promise<RedisEndpoint> {
    try {
      const chosen = port ?? (await freePort(await this.knownPort(), this.highestPort));
      const endpoint = { host: HOST, port: chosen, password };
      await rm(join(this.path, 'redis.pid'), { force: true });
      await writePrivateFile(join(this.path, 'redis.conf'), serverConfig(endpoint, this.options.config));
      // Written before the server starts, so that other processes find the port of a server that holds the folder.
      await writePrivateFile(join(this.path, 'address.json'), `${JSON.stringify({ port: chosen })}\n`);
      await this.spawnServer(endpoint, lock.fd);
      return endpoint;
    } finally {
      await lock.release();
    }
  }

  private async spawnServer(endpoint: RedisEndpoint, lockFd: number): Promise<void> {
    const log = await open(join(this.path, 'redis.log'), 'a', 0o600);
    let failure: string | undefined;
    let child: ChildProcess;
    try {
      // Detached, so that Ctrl-C of a terminal reaches only the app, which still needs Redis to finish its work.
      child = spawn('redis-server', ['redis.conf'], {
        cwd: this.path,
        detached: true,
        stdio: ['ignore', log.fd, log.fd, lockFd],
      });
      child.once('error', (error) => (failure = describeSpawnError(error)));
      child.once('exit', (status, signal) => (failure ??= `it ended with ${describeEnd(status, signal)}`));
      child.unref();
    } finally {
      await log.close();
    }
    const deadline = Date.now() + this.patienceMs;
    while (!(await answersPing(endpoint))) {
      if (failure === undefined && Date.now() < deadline) {
        await sleep(10);
        continue;
      }
      if (failure === undefined) child.kill('SIGKILL');
      const reason = failure ?? `it did not answer within ${this.patienceMs} ms`;
      throw new EmbeddedRedisError(`redis-server did not start in ${this.path}: ${reason}. ${await this.lastWords()}`);
    }
  }

  private async knownPort(): Promise<number | undefined> {
    try {
      const address: unknown = JSON.parse((await readIfPresent(join(this.path, 'address.json'))) ?? 'null');
      const port = (address as { port?: unknown } | null)?.port;
      return typeof port === 'number' && Number.isInteger(port) && port > 0 && port <= this.highestPort
        ? port
        : undefined;
    } catch {
      return undefined;
    }
  }

  private async unreachable(port: number | undefined): Promise<EmbeddedRedisError> {
    const pid = await readIfPresent(join(this.path, 'redis.pid')).catch(() => undefined);
    const seen = port === undefined ? 'its address.json is missing or damaged' : `accepts no commands on port ${port}`;
    const who = pid === undefined ? 'the process that holds server.lock' : `process ${pid}`;
    return new EmbeddedRedisError(
      `A redis-server seems to hold ${this.path}, but ${seen}. Wait if redis.log shows that it still loads its data. Else stop ` +
        `${who} and start again, or choose another DATA_DIR.`,
    );
  }

  private async lastWords(): Promise<string> {
    const log = await readFile(join(this.path, 'redis.log'), 'utf8').catch(() => '');
    const lines = log.trimEnd().split('\n').slice(-3);
    return lines.join('') === '' ? 'Its log is empty.' : `Its log ends with: ${lines.join(' / ')}`;
  }
}

function describeSpawnError(error: NodeJS.ErrnoException): string {
  if (error.code !== 'ENOENT') return error.message;
  return 'the program redis-server is not on the PATH; install Redis 7.0 or newer, or set REDIS_URL and run npm start';
}

/** Content of redis.conf. The password is in this file of mode 0600, because all users can read command lines. */
function serverConfig({ host, port, password }: RedisEndpoint, more: readonly string[] = []): string {
  return [
    `bind ${host}`,
    `port ${port}`,
    `requirepass ${password}`,
    'protected-mode yes',
    'daemonize no',
    'pidfile redis.pid',
    'appendonly yes',
    'appendfsync always',
    'save ""',
    'maxmemory-policy noeviction',
    ...more,
    '',
  ].join('\n');
}
