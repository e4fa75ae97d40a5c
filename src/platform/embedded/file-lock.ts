import { spawn } from 'node:child_process';
import { close, open } from 'node:fs';
import { promisify } from 'node:util';
import { describeEnd } from '../process-end';

const openFile = promisify(open);
const closeFile = promisify(close);

type Mode = 'exclusive' | 'shared';

/** The program `flock`, or `perl` where `flock` is missing, could not try to lock a file. */
class FileLockUnavailableError extends Error {
  readonly code = 'FILE_LOCK_UNAVAILABLE';

  constructor(detail: string, options?: ErrorOptions) {
    super(`The file was not locked: ${detail}.`, options);
    this.name = 'FileLockUnavailableError';
  }
}

/**
 * An advisory lock of flock(2) on a whole file. The lock belongs to the open file, not to the helper program that takes the
 * lock. So the kernel frees the lock when the last process that shares the open file closes it or ends, also after a crash.
 * See DECISIONS.md: file-locks-without-native-addon
 */
export class FileLock {
  private open = true;

  private constructor(
    /** Locked descriptor; a child that inherits it holds the same lock. */
    readonly fd: number,
    readonly path: string,
  ) {}

  /**
   * Locks the file exclusively. Returns undefined if the file is locked already. Creates a missing file.
   *
   * @throws {FileLockUnavailableError} if `flock`, or `perl` where `flock` is missing, could not try to lock the file
   */
  static tryExclusive(path: string): Promise<FileLock | undefined> {
    return FileLock.acquire(path, 'exclusive');
  }

  /**
   * Locks the file; other processes may share the lock. Returns undefined if there is an exclusive lock. Creates a missing file.
   *
   * @throws {FileLockUnavailableError} if `flock`, or `perl` where `flock` is missing, could not try to lock the file
   */
  static tryShared(path: string): Promise<FileLock | undefined> {
    return FileLock.acquire(path, 'shared');
  }

  /**
   * Turns a shared lock into an exclusive one. Returns false if other processes share the lock. Then this process may have lost its
   * shared lock, too, because flock(2) drops the shared lock first. If all processes that share the lock try at once, one succeeds.
   */
  tryUpgrade(): Promise<boolean> {
    return flock(this.fd, 'exclusive');
  }

  /** Closes the descriptor. A child that inherited the descriptor keeps the lock. Harmless twice. */
  async release(): Promise<void> {
    if (!this.open) return;
    this.open = false;
    await closeFile(this.fd);
  }

  private static async acquire(path: string, mode: Mode): Promise<FileLock | undefined> {
    // 'a+' creates a missing file, never truncates it, and opens it for reading and writing, as perl needs.
    const fd = await openFile(path, 'a+', 0o600);
    try {
      if (await flock(fd, mode)) return new FileLock(fd, path);
    } catch (error) {
      await closeFile(fd);
      throw error;
    }
    await closeFile(fd);
    return undefined;
  }
}

async function flock(fd: number, mode: Mode): Promise<boolean> {
  const viaUtility = await run('flock', ['-n', mode === 'exclusive' ? '-x' : '-s', '3'], fd);
  if (viaUtility !== 'missing') return viaUtility;
  const bits = mode === 'exclusive' ? 2 : 1;
  const program = `open(F, '+<&=3') or exit 2; exit(flock(F, ${bits} | 4) ? 0 : ($!{EWOULDBLOCK} ? 1 : 2))`;
  const viaPerl = await run('perl', ['-MErrno', '-e', program], fd);
  if (viaPerl !== 'missing') return viaPerl;
  throw new FileLockUnavailableError('neither flock (of util-linux) nor perl is on the PATH. Install one of them');
}

function run(command: string, args: readonly string[], fd: number): Promise<boolean | 'missing'> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe', fd] });
    let complaint = '';
    child.stderr?.on('data', (chunk: Buffer) => (complaint += chunk.toString()));
    child.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') resolve('missing');
      else reject(new FileLockUnavailableError(`${command} could not be started`, { cause: error }));
    });
    child.once('close', (status, signal) => {
      if (status === 0) resolve(true);
      else if (status === 1) resolve(false);
      else
        reject(
          new FileLockUnavailableError(`${command} ended with ${describeEnd(status, signal)}: ${complaint.trim()}`),
        );
    });
  });
}
