import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as after } from 'node:timers/promises';
import { withAdmin } from './admin';
import { note, FAULT_NOTES_VARIABLE } from './fault-notes';
import { freePort } from './free-port';
import { type ProcessGuard, guardProcess } from './process-guard';
import { sleep } from './wait';

const START_TIMEOUT_MS = 10_000;
const STOP_TIMEOUT_MS = 3_000;
const START_ATTEMPTS = 5;

export interface RedisServerOptions {
  /** Appended to the command line, so they win over the defaults. */
  args?: readonly string[];
  /** Fixed port. Default: a free one. */
  port?: number;
  /** How a free port is chosen. Default `freePort`. */
  pickPort?: () => Promise<number>;
  /** Fixed data directory, which `stop()` does not remove. Default: a temporary one. */
  dir?: string;
  /** False: `start` resolves as soon as the process exists, before the server answers. Default true. */
  ready?: boolean;
}

class PortTaken extends Error {}

/** A real redis-server on 127.0.0.1. It dies with this process, however this process ends. */
export class RedisServer {
  readonly host = '127.0.0.1';
  #child: ChildProcess | undefined;
  #guard: ProcessGuard | undefined;
  #exited: Promise<unknown> = Promise.resolve();
  #paused = false;
  #stopped = false;

  private constructor(
    readonly port: number,
    readonly dir: string,
    private readonly ownsDir: boolean,
    private readonly args: readonly string[],
  ) {}

  static async start(options: RedisServerOptions = {}): Promise<RedisServer> {
    for (let attempt = 1; ; attempt += 1) {
      const port = options.port ?? (await (options.pickPort ?? freePort)());
      const dir = options.dir ?? mkdtempSync(join(tmpdir(), 'luanest-redis-'));
      const server = new RedisServer(port, dir, options.dir === undefined, options.args ?? []);
      try {
        await server.#launch(options.ready ?? true);
        return server;
      } catch (error) {
        await server.stop();
        const another = error instanceof PortTaken && options.port === undefined && attempt < START_ATTEMPTS;
        if (!another) throw error;
      }
    }
  }

  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error(`redis-server on port ${this.port} is not running.`);
    return pid;
  }

  /** True while the process exists and is not paused. */
  get live(): boolean {
    return this.#child !== undefined && !this.#paused;
  }

  get log(): string {
    try {
      return readFileSync(join(this.dir, 'redis.log'), 'utf8');
    } catch {
      return '';
    }
  }

  /** Ends the server and removes its temporary directory. May be called at any time, any number of times. */
  async stop(): Promise<void> {
    if (!this.#stopped && process.env[FAULT_NOTES_VARIABLE]) await this.#noteLoad();
    this.#stopped = true;
    await this.terminate();
    if (this.ownsDir) rmSync(this.dir, { recursive: true, force: true });
  }

  /** Ends the server with SIGTERM, and keeps its directory for `restart()`. */
  async terminate(): Promise<void> {
    const child = this.#child;
    if (!child) return;
    child.kill('SIGTERM');
    this.resume(); // a paused process would never see the SIGTERM
    const tooLong = after(STOP_TIMEOUT_MS, false, { ref: false });
    const ended = await Promise.race([this.#exited.then(() => true), tooLong]);
    if (!ended) await this.kill(); // a busy script or a lagging replica delays the end
  }

  /** Ends the server with SIGKILL. It flushes nothing and closes no connection properly. */
  async kill(): Promise<void> {
    if (this.#child && !this.#stopped) note('servers killed (SIGKILL)');
    this.#child?.kill('SIGKILL');
    await this.#exited;
  }

  /** Starts the server again with the same port, directory and arguments. Ends it first if it still runs. */
  async restart(): Promise<void> {
    if (this.#stopped) throw new Error('A stopped server has lost its directory: use kill() or terminate() first.');
    await this.terminate();
    note('servers started again');
    await this.#launch(true);
  }

  pause(): void {
    this.#paused = this.#child?.kill('SIGSTOP') ?? false;
    if (this.#paused) note('servers stopped (SIGSTOP)');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
    this.#paused = false;
  }

  #commandLine(): string[] {
    const network = ['--port', String(this.port), '--bind', this.host, '--protected-mode', 'no'];
    const data = ['--dir', this.dir, '--save', '', '--appendonly', 'no', '--shutdown-timeout', '0'];
    return [...network, ...data, '--daemonize', 'no', ...this.args];
  }

  async #launch(ready: boolean): Promise<void> {
    const binary = process.env.REDIS_SERVER_BIN ?? 'redis-server';
    const log = openSync(join(this.dir, 'redis.log'), 'w');
    const child = spawn(binary, this.#commandLine(), { stdio: ['ignore', log, log] });
    closeSync(log);
    let failure: Error | undefined;
    child.once('error', (error) => (failure = error));
    this.#exited = new Promise<void>((resolve) => {
      const ended = (): void => {
        this.#guard?.release();
        this.#child = undefined;
        this.#paused = false;
        resolve();
      };
      child.once('exit', ended);
      child.once('error', () => child.pid === undefined && ended());
    });
    if (child.pid === undefined) {
      await once(child, 'error').catch(() => undefined);
      throw new Error(
        `Cannot run ${binary}: ${failure?.message ?? 'it did not start'}. Run: node tools/ensure.mjs redis-server`,
      );
    }
    this.#child = child;
    this.#guard = guardProcess(child.pid, this.ownsDir ? this.dir : undefined);
    if (ready) await this.#untilReady(child.pid);
  }

  async #untilReady(pid: number): Promise<void> {
    const deadline = performance.now() + START_TIMEOUT_MS;
    while (this.#child) {
      if (await this.#answersAs(pid)) return;
      if (performance.now() > deadline) break;
      await sleep(10);
    }
    const log = this.log;
    const why = this.#child ? `did not answer within ${START_TIMEOUT_MS} ms` : 'ended at once';
    const message = `redis-server on port ${this.port} ${why}. Its log:\n${log.slice(-4_000)}`;
    await this.kill();
    throw /Address already in use|Failed listening/i.test(log) ? new PortTaken(message) : new Error(message);
  }

  /** Notes how many scripts the server has run since its start or CONFIG RESETSTAT. */
  async #noteLoad(): Promise<void> {
    if (!this.live) return;
    const stats = await withAdmin(this, (admin) => admin.info('commandstats')).catch(() => '');
    for (const [, calls] of stats.matchAll(/cmdstat_(?:evalsha|eval|evalsha_ro|eval_ro):calls=(\d+)/g)) {
      note('scripts run by Redis', Number(calls));
    }
  }

  /** Returns true if the server on the port is ours. It compares the process id, since another server may have taken the port. */
  async #answersAs(pid: number): Promise<boolean> {
    try {
      const info = await withAdmin(this, (admin) => admin.info('server'));
      return info.includes(`process_id:${pid}\r\n`);
    } catch (error) {
      return this.#child !== undefined && /^(NOAUTH|NOPERM)/.test((error as Error).message);
    }
  }
}
