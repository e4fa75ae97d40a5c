import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { startFaultProxy, type FaultProxy, type RedisServer } from 'luanest/testing/servers';
import { forkWorker } from '../../../test/support/fork-worker';
import { guardProcess } from '../../../test/support/process-guard';
import type { Batch } from './player';
import type { WorkerMessage, WorkerReport } from './worker';

/** A worker, and its link to Redis, which goes through a proxy. */
export class WorkerProcess {
  paused = false;
  private alive = true;
  private readonly waiting = new Map<WorkerReport, (() => void)[]>();
  private readonly failures: ((error: Error) => void)[] = [];

  private constructor(
    private readonly child: ChildProcess,
    readonly proxy: FaultProxy,
    readonly name: string,
  ) {
    // A process that is stopped (SIGSTOP) does not notice the end of this one.
    const guard = guardProcess(child.pid as number);
    child.on('message', (message) => this.heard(message as WorkerReport));
    child.once('exit', () => {
      this.alive = false;
      guard.release();
      for (const ended of this.waiting.get('ran') ?? []) ended();
    });
  }

  static async open(
    redis: RedisServer,
    subjects: readonly string[],
    settings: { readonly prefix: string; readonly name: string; readonly journal: string },
  ): Promise<WorkerProcess> {
    const proxy = await startFaultProxy(redis);
    const worker = new WorkerProcess(forkWorker(join(__dirname, 'worker.ts')), proxy, settings.name);
    const opened = worker.until('open');
    worker.send({ kind: 'open', subjects, settings: { ...settings, port: proxy.port } });
    await opened;
    return worker;
  }

  /** Resolves when the clients have ended, or the process has died. */
  async run(batch: Batch): Promise<void> {
    const ran = this.until('ran');
    this.send({ kind: 'run', batch });
    await ran;
  }

  /** Makes `run` resolve soon. */
  stop(): void {
    if (this.alive) this.send({ kind: 'stop' });
  }

  pause(): void {
    this.paused = this.child.kill('SIGSTOP');
  }

  resume(): void {
    this.paused = false;
    this.child.kill('SIGCONT');
  }

  /** Kills the process (SIGKILL) and its link. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.proxy.stop();
  }

  private until(what: 'open' | 'ran'): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.set(what, [...(this.waiting.get(what) ?? []), resolve]);
      this.failures.push(reject);
    });
  }

  private heard(report: WorkerReport): void {
    if (typeof report === 'object') {
      for (const fail of this.failures.splice(0)) fail(new Error(`Worker ${this.name}: ${report.failed}`));
      return;
    }
    for (const resolve of this.waiting.get(report) ?? []) resolve();
    this.waiting.delete(report);
  }

  private send(message: WorkerMessage): void {
    this.child.send(message, () => undefined);
  }
}
