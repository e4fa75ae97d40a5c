import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';

/** Runs a TypeScript file in a process of its own, so that the test can stop and kill it. @param file absolute path */
export function forkWorker(file: string): ChildProcess {
  return fork(join(__dirname, 'worker-entry.cjs'), [file], { execArgv: [] });
}
