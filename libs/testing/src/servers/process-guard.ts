import { spawn } from 'node:child_process';

export interface ProcessGuard {
  /** Ends the guard. Call it when the guarded process has ended, because another process may then get the same id. */
  release(): void;
}

/**
 * Shell script that kills the process `pid` when this process ends, even by SIGKILL, after which an exit hook would not run. The shell
 * waits on a pipe from this process, which closes then. It also removes the temporary directory.
 */
export const GUARD_SCRIPT = `read -r released || {
  kill -KILL "$1"
  test -z "$2" || { sleep 0.2; rm -rf "$2"; }
}`;

export function guardProcess(pid: number, temporaryDir = ''): ProcessGuard {
  const guard = spawn('/bin/sh', ['-c', GUARD_SCRIPT, 'guard', String(pid), temporaryDir], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // Ctrl-C would end the guard before it can kill the process.
  });
  guard.on('error', () => undefined);
  guard.stdin.on('error', () => undefined);
  guard.unref();
  return { release: () => guard.stdin.end('released\n') };
}
