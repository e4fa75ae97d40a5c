import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from '../lua/scripts';
import type { Task, TestFiles } from './messages';

const ENTRY = join(ROOT, 'test', 'support', 'worker-entry.cjs');

/** A process that answers one task at a time. It is started when it is needed. */
export class WorkerProcess {
  private child: ChildProcess | undefined;

  constructor(
    private readonly lib: string,
    private readonly files: TestFiles,
  ) {}

  /** @returns the answer; undefined if there was none in time: then the process was ended */
  async ask<T>(task: Task, limitMs: number): Promise<T | undefined> {
    const child = (this.child ??= this.start());
    const answer = await new Promise<T | undefined>((resolve) => {
      const limit = setTimeout(() => resolve(undefined), limitMs);
      const done = (value: T | undefined): void => {
        clearTimeout(limit);
        child.off('message', done as (value: unknown) => void);
        child.off('exit', ended);
        resolve(value);
      };
      const ended = (): void => done(undefined);
      child.on('message', done as (value: unknown) => void);
      child.on('exit', ended);
      child.send(task);
    });
    if (answer === undefined) this.stop();
    return answer;
  }

  stop(): void {
    this.child?.kill('SIGKILL');
    this.child = undefined;
  }

  private start(): ChildProcess {
    const output = process.env.LUANEST_MUTANTS_OUTPUT === '1' ? 'inherit' : 'ignore';
    return fork(ENTRY, [join(ROOT, 'proofs', 'mutants', 'run', 'worker.ts'), this.lib, this.files], {
      stdio: ['ignore', output, output, 'ipc'],
    });
  }
}
