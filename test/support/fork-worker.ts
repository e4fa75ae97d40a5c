import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';

/** Runs a file of TypeScript in a process of its own, so that it can be stopped and killed. @param file its whole path */
export function forkWorker(file: string): ChildProcess {
  return fork(join(__dirname, 'worker-entry.cjs'), [file], { execArgv: [] });
}
