import { spawn } from 'node:child_process';

export interface ProcessGuard {
  /** The process has ended by itself: its id may belong to somebody else from now on. */
  release(): void;
}

/**
 * A shell that waits on a pipe from this process. The pipe closes however this process ends, by SIGKILL too, and the
 * shell then kills `pid`. Jest hands its tests a copy of `process` whose exit hooks never run, so a hook cannot do it.
 */
export const GUARD_SCRIPT = `read -r released || {
  kill -KILL "$1"
  test -z "$2" || { sleep 0.2; rm -rf "$2"; }
}`;

export function guardProcess(pid: number, temporaryDir = ''): ProcessGuard {
  const guard = spawn('/bin/sh', ['-c', GUARD_SCRIPT, 'guard', String(pid), temporaryDir], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // or Ctrl-C would end the guard together with what it guards against
  });
  guard.on('error', () => undefined);
  guard.stdin.on('error', () => undefined);
  guard.unref();
  return { release: () => guard.stdin.end('released\n') };
}
