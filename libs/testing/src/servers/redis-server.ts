import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Address, withAdmin } from './admin';
import { TestServerError } from './errors';
import { faultsAreCounted, reportFault, reportScripts } from './fault-channel';
import { freePort } from './free-port';
import { untilReady } from './redis-ready';
import { RedisProcess } from './redis-process';

/** Settings of a {@link RedisServer}. */
export interface ServerSettings {
  readonly binary: string;
  readonly args: readonly string[];
  readonly startTimeoutMs: number;
  /** Master to follow as a replica. */
  readonly replicaOf?: Address | undefined;
  /** Configuration of a Sentinel. If it is given, the server is a Sentinel. */
  readonly sentinel?: readonly string[];
}

/** Port of a {@link RedisServer}: a fixed one, or one from `pick`. If another process takes the port first, `pick` is called again. */
export type PortChoice = { readonly port: number } | { readonly pick: () => Promise<number> };

/** Text in the log of a server that could not start because its port was taken. */
const PORT_TAKEN = /Address already in use|Failed listening/i;
const ATTEMPTS = 5;
const SENTINEL_FILE = 'sentinel.conf';

/** A real redis-server on 127.0.0.1. {@link startRedis} starts it. When this process ends in any way, the server is killed. */
export class RedisServer implements AsyncDisposable {
  /** Always 127.0.0.1. */
  readonly host = '127.0.0.1';
  /** Directory of the server's files. */
  readonly dir: string;
  #process: RedisProcess | undefined;
  #stopped = false;
  #replicaOf: Address | undefined;

  private constructor(
    /** TCP port. It stays the same when the server starts again. */
    readonly port: number,
    private readonly settings: ServerSettings,
  ) {
    this.dir = mkdtempSync(join(tmpdir(), 'luanest-redis-'));
    this.#replicaOf = settings.replicaOf;
  }

  /** Starts a server. Use {@link startRedis} instead: it checks the options. */
  static async start(settings: ServerSettings, choice: PortChoice = { pick: freePort }): Promise<RedisServer> {
    for (let attempt = 1; ; attempt += 1) {
      const server = new RedisServer('port' in choice ? choice.port : await choice.pick(), settings);
      try {
        await server.#launch();
        return server;
      } catch (error) {
        const again = 'pick' in choice && attempt < ATTEMPTS && PORT_TAKEN.test(server.log);
        await server.stop();
        if (!again) throw error;
      }
    }
  }

  /** `redis://127.0.0.1:<port>`. */
  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  /** Process id of the server. @throws TestServerError if the server does not run */
  get pid(): number {
    return this.#running().pid;
  }

  /** True while the process exists and is not paused. */
  get live(): boolean {
    return this.#process?.running === true && !this.#process.paused;
  }

  /** Log of the server since its last start. */
  get log(): string {
    try {
      return readFileSync(join(this.dir, 'redis.log'), 'utf8');
    } catch {
      return '';
    }
  }

  /** Ends the server and removes its temporary directory. May be called at any time, any number of times. */
  async stop(): Promise<void> {
    if (!this.#stopped && this.live && faultsAreCounted()) await withAdmin(this, reportScripts).catch(() => undefined);
    this.#stopped = true;
    // SIGKILL is faster: Redis takes up to 100 ms to notice a SIGTERM, and nothing must be saved.
    await this.#process?.kill();
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** The same as `stop()`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Ends the server with SIGTERM, or with SIGKILL after three seconds. Keeps its directory for `restart()`. */
  async terminate(): Promise<void> {
    await this.#process?.terminate();
  }

  /** Ends the server with SIGKILL. It saves nothing and closes no connection properly. `restart()` starts it again. */
  async kill(): Promise<void> {
    if (!this.#process?.running) return;
    if (!this.#stopped) reportFault('servers killed (SIGKILL)');
    await this.#process.kill();
  }

  /**
   * Starts the server again with the same port, directory and arguments. If it still runs, ends it first. Data that the server has not
   * saved is lost. A master saves data only if its arguments turn persistence on. Rejects with TestServerError after `stop()`.
   */
  async restart(): Promise<void> {
    if (this.#stopped)
      throw this.#error(
        'was ended by stop(), which deletes its data, so it cannot be started again. Use kill() or terminate() before restart().',
      );
    await this.terminate();
    reportFault('servers started again');
    await this.#launch();
  }

  /** Pauses the process with SIGSTOP: connections stay open, and new connections are accepted, but the server does not reply. */
  pause(): void {
    if (this.#process?.pause()) reportFault('servers stopped (SIGSTOP)');
  }

  /** Resumes a paused server. It runs the commands that it got during the pause, on connections that were not reset. */
  resume(): void {
    this.#process?.resume();
  }

  /** Makes a replica a master (REPLICAOF NO ONE). */
  async promote(): Promise<void> {
    await withAdmin(this, (admin) => admin.call('REPLICAOF', 'NO', 'ONE'));
    this.#replicaOf = undefined;
    reportFault('failovers');
  }

  /**
   * Makes the server a replica of a master. The server loses its own data. Resolves when the server has the data of the master. Rejects if
   * the server requires a password.
   */
  async follow(master: Address): Promise<void> {
    await withAdmin(this, (admin) => admin.call('REPLICAOF', master.host, master.port));
    this.#replicaOf = { host: master.host, port: master.port };
    await this.#untilReady();
  }

  async #launch(): Promise<void> {
    const { binary, sentinel } = this.settings;
    const config = join(this.dir, SENTINEL_FILE);
    // A Sentinel writes its state into its configuration file, which a restart must not overwrite.
    if (sentinel && !existsSync(config)) writeFileSync(config, sentinel.join('\n'));
    const log = join(this.dir, 'redis.log');
    this.#process = await RedisProcess.spawn(binary, this.#commandLine(), log, this.dir);
    try {
      await this.#untilReady();
    } catch (error) {
      await this.#process.kill();
      throw error;
    }
  }

  #untilReady(): Promise<void> {
    return untilReady(this, this.#running(), this.settings.startTimeoutMs, this.#replicaOf !== undefined);
  }

  #commandLine(): string[] {
    const { args, sentinel } = this.settings;
    const network = ['--port', String(this.port), '--bind', this.host, '--protected-mode', 'no', '--daemonize', 'no'];
    if (sentinel) return [join(this.dir, SENTINEL_FILE), '--sentinel', ...network, '--dir', this.dir, ...args];
    const data = ['--dir', this.dir, '--save', '', '--appendonly', 'no', '--shutdown-timeout', '0'];
    // By default, the first synchronisation of a replica would wait for five seconds.
    const replication = ['--repl-diskless-sync-delay', '0'];
    const master = this.#replicaOf && ['--replicaof', this.#replicaOf.host, String(this.#replicaOf.port)];
    return [...network, ...data, ...replication, ...(master ?? []), ...args];
  }

  #running(): RedisProcess {
    if (this.#process?.running) return this.#process;
    throw this.#error('is not running. Call restart() first.');
  }

  #error(problem: string): TestServerError {
    return new TestServerError(`The redis-server on port ${this.port} ${problem}`);
  }
}
