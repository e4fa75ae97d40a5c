import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { TestServerError } from './errors';

const LOWEST_MAJOR = 7;
const REMEDY =
  'Install Redis 7.0 or newer (apt-get install redis-server, brew install redis), ' +
  'or set the option binary or the environment variable REDIS_SERVER_BIN to the path of a redis-server.';

/** Versions of the checked programs, by path or name. A failure is not remembered, because someone may install the program. */
const versions = new Map<string, Promise<string>>();

/**
 * Returns the path or name of a redis-server that is new enough.
 *
 * @param owner name of the function that has the option `binary`, for errors
 * @param binary path, or name on the PATH. Default: REDIS_SERVER_BIN, `redis-server` or `valkey-server`
 * @throws TestServerError if no such program is found, or if it is too old
 */
export async function usableBinary(owner: string, binary = process.env.REDIS_SERVER_BIN): Promise<string> {
  if (binary) {
    await checkVersion(owner, binary);
    return binary;
  }
  try {
    await checkVersion(owner, 'redis-server');
    return 'redis-server';
  } catch (error) {
    // If valkey-server fails, too, the error about redis-server is thrown, because it was the first choice.
    return checkVersion(owner, 'valkey-server').then(
      () => 'valkey-server',
      () => Promise.reject(error as Error),
    );
  }
}

async function checkVersion(owner: string, binary: string): Promise<void> {
  const asked = versions.get(binary) ?? versionOf(binary);
  versions.set(binary, asked);
  const version = await asked.catch((error: NodeJS.ErrnoException) => {
    versions.delete(binary);
    const missing = error.code === 'ENOENT';
    const problem = missing ? 'or its dynamic loader was not found' : `cannot be run: ${error.message}`;
    throw new TestServerError(`${owner}: "${binary}" ${problem}. ${REMEDY}`, { cause: error });
  });
  const [, name = '', number = '', major = ''] = /^(\w+)?.*?\bv=((\d+)[\w.-]*)/s.exec(version) ?? [];
  if (Number(major) >= LOWEST_MAJOR) return;
  const found = number === '' ? 'prints no version' : `is ${name} ${number}`;
  throw new TestServerError(`${owner}: "${binary}" ${found}. Expected Redis 7.0 or newer. ${REMEDY}`);
}

async function versionOf(binary: string): Promise<string> {
  const { stdout } = await promisify(execFile)(binary, ['--version'], { timeout: 10_000 });
  return stdout;
}
