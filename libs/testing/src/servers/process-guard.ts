import { spawn } from 'node:child_process';

export interface ProcessGuard {
  /** Ends the guard. Call it when the guarded process has ended: another process may get the same id, and the guard must not kill that. */
  release(): void;
}

/**
 * Shell script that waits on a pipe from this process. When this process ends, even by SIGKILL, the pipe closes. Then the shell kills the
 * process `pid`, and removes the temporary directory. An exit hook could not do this, because it does not run after SIGKILL.
 */
export const GUARD_SCRIPT = `read -r released || {
  kill -KILL "$1"
  test -z "$2" || { sleep 0.2; rm -rf "$2"; }
}`;

export function guardProcess(pid: number, temporaryDir = ''): ProcessGuard {
  const guard = spawn('/bin/sh', ['-c', GUARD_SCRIPT, 'guard', String(pid), temporaryDir], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // otherwise Ctrl-C would end the guard before it can kill the process
  });
  guard.on('error', () => undefined);
  guard.stdin.on('error', () => undefined);
  guard.unref();
  return { release: () => guard.stdin.end('released\n') };
}
