import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import * as timers from 'node:timers/promises';
import { TestServerError } from './errors';
import { type ProcessGuard, guardProcess } from './process-guard';

// The fake timers of a test may replace this function later, so the real one is saved when this file is loaded.
const { setTimeout: after } = timers;
const STOP_TIMEOUT_MS = 3_000;

/** A server process. It is killed when this process ends in any way, and does not keep this process alive. */
export class RedisProcess {
  #running = true;
  #paused = false;

  private constructor(
    private readonly child: ChildProcess,
    private readonly guard: ProcessGuard,
    private readonly exited: Promise<void>,
  ) {
    void exited.then(() => {
      guard.release();
      this.#running = false;
    });
  }

  /**
   * @param logFile file for the output of the server; an existing file is emptied
   * @param temporaryDir directory to remove when this process dies
   */
  static async spawn(
    binary: string,
    args: readonly string[],
    logFile: string,
    temporaryDir: string,
  ): Promise<RedisProcess> {
    const log = openSync(logFile, 'w');
    const child = spawn(binary, args, { stdio: ['ignore', log, log] });
    closeSync(log);
    if (child.pid === undefined) {
      const [cause] = (await once(child, 'error')) as [Error];
      throw new TestServerError(`Cannot run ${binary}: ${cause.message}`, { cause });
    }
    child.on('error', () => undefined); // A signal that could not be sent is not a failure.
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.unref();
    return new RedisProcess(child, guardProcess(child.pid, temporaryDir), exited);
  }

  get pid(): number {
    return this.child.pid as number;
  }

  get running(): boolean {
    return this.#running;
  }

  get paused(): boolean {
    return this.#running && this.#paused;
  }

  pause(): boolean {
    this.#paused = this.#running && this.child.kill('SIGSTOP');
    return this.#paused;
  }

  resume(): void {
    this.child.kill('SIGCONT');
    this.#paused = false;
  }

  /** Ends the process with SIGTERM. If it has not ended after 3 s, kills it with SIGKILL. */
  async terminate(): Promise<void> {
    if (!this.#running) return;
    this.child.ref();
    this.child.kill('SIGTERM');
    this.resume(); // A paused process would never get the SIGTERM.
    const tooLong = after(STOP_TIMEOUT_MS, false, { ref: false });
    const ended = await Promise.race([this.exited.then(() => true), tooLong]);
    if (!ended) await this.kill(); // A busy script or a lagging replica delays the end.
  }

  async kill(): Promise<void> {
    if (!this.#running) return;
    this.child.ref();
    this.child.kill('SIGKILL');
    await this.exited;
  }
}
