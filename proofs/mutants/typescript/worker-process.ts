import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from '../lua/scripts';
import type { Answer, Task } from './messages';

const ENTRY = join(ROOT, 'test', 'support', 'worker-entry.cjs');
const START_LIMIT_MS = 60_000;

/** A process that answers one task at a time. It is started when it is needed. */
export class WorkerProcess {
  private child: ChildProcess | undefined;

  /** @param sources file with the instrumented sources */
  constructor(
    private readonly lib: string,
    private readonly sources: string,
    private readonly mutant?: string,
  ) {}

  get running(): boolean {
    return this.child !== undefined;
  }

  /** @returns the answer; undefined if there was none in time: then the process was ended */
  async ask<T>(task: Task): Promise<T | undefined> {
    const child = (this.child ??= this.start());
    const result = await new Promise<T | undefined>((resolve) => {
      const done = (value: T | undefined): void => {
        clearTimeout(limit);
        child.off('message', heard);
        child.off('exit', ended);
        resolve(value);
      };
      const ended = (): void => done(undefined);
      const heard = (answer: Answer): void => {
        if ('result' in answer) return done(answer.result as T);
        clearTimeout(limit);
        limit = setTimeout(ended, answer.progressMs);
      };
      let limit = setTimeout(ended, START_LIMIT_MS);
      child.on('message', heard as (value: unknown) => void);
      child.on('exit', ended);
      child.send(task);
    });
    if (result === undefined) this.stop();
    return result;
  }

  stop(): void {
    this.child?.kill('SIGKILL');
    this.child = undefined;
  }

  private start(): ChildProcess {
    const output = process.env.LUANEST_MUTANTS_OUTPUT === '1' ? 'inherit' : 'ignore';
    const worker = join(ROOT, 'proofs', 'mutants', 'typescript', 'worker.ts');
    const env = { ...process.env, ...(this.mutant !== undefined && { __STRYKER_ACTIVE_MUTANT__: this.mutant }) };
    return fork(ENTRY, [worker, this.lib, this.sources], { stdio: ['ignore', output, output, 'ipc'], env });
  }
}
