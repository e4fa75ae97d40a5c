import { mkdir, symlink, writeFile, readFile } from 'node:fs/promises';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { FileLock } from '../../src/platform/embedded/file-lock';
import { built, Program } from './support/processes';
import { makeTempFolder, removeFolder } from './support/temp-folder';

let folder: string;
let path: string;
const held: FileLock[] = [];
const programs: Program[] = [];

beforeEach(async () => {
  folder = await makeTempFolder();
  path = join(folder, 'a.lock');
});
afterEach(async () => {
  await Promise.all([
    ...held.splice(0).map((lock) => lock.release()),
    ...programs.splice(0).map((child) => child.end('SIGKILL')),
  ]);
  await removeFolder(folder);
});

async function keep(lock: Promise<FileLock | undefined>): Promise<FileLock> {
  const got = await lock;
  if (got === undefined) throw new Error('The lock should have been free.');
  held.push(got);
  return got;
}

/** A process that takes the lock, says so and stays. */
async function holder(env: Record<string, string> = {}): Promise<Program> {
  const script = `
    const { FileLock } = require(${JSON.stringify(built('platform/embedded/file-lock.js'))});
    FileLock.tryExclusive(${JSON.stringify(path)}).then(
      (lock) => { console.log(lock ? 'got' : 'busy'); if (lock) setInterval(() => lock.fd, 1000); },
      (error) => console.log(error.message),
    );`;
  const program = Program.node(['-e', script], env);
  programs.push(program);
  await program.line(/\n/);
  return program;
}

it('excludes everybody else until it is released, and keeps what is in the file', async () => {
  await writeFile(path, 'content');
  const lock = await keep(FileLock.tryExclusive(path));
  expect(await FileLock.tryExclusive(path)).toBeUndefined();
  expect(await FileLock.tryShared(path)).toBeUndefined();
  await lock.release();
  await lock.release();
  await keep(FileLock.tryExclusive(path));
  expect(await readFile(path, 'utf8')).toBe('content');
});

it('is shared among sharers, and the last one can upgrade', async () => {
  const first = await keep(FileLock.tryShared(path));
  const second = await keep(FileLock.tryShared(path));
  expect(await FileLock.tryExclusive(path)).toBeUndefined();
  expect(await first.tryUpgrade()).toBe(false);
  await first.release();
  expect(await second.tryUpgrade()).toBe(true);
  expect(await FileLock.tryShared(path)).toBeUndefined();
});

it('lets at least one of several sharers upgrade when they all leave at once', async () => {
  const locks = await Promise.all(Array.from({ length: 5 }, () => keep(FileLock.tryShared(path))));
  const last = await Promise.all(
    locks.map(async (lock) => {
      const alone = await lock.tryUpgrade();
      await lock.release();
      return alone;
    }),
  );
  expect(last.filter(Boolean).length).toBeGreaterThanOrEqual(1);
});

it('keeps out other processes, and is free as soon as its holder is killed', async () => {
  const program = await holder();
  expect(program.stdout).toBe('got\n');
  expect(await FileLock.tryExclusive(path)).toBeUndefined();
  await program.end('SIGKILL');
  await keep(FileLock.tryExclusive(path));
});

it('takes the same lock through perl where there is no flock', async () => {
  await mkdir(join(folder, 'bin'));
  const perl = execFileSync('which', ['perl'], { encoding: 'utf8' }).trim();
  await symlink(perl, join(folder, 'bin', 'perl'));
  const program = await holder({ PATH: join(folder, 'bin') });
  expect(program.stdout).toBe('got\n');
  expect(await FileLock.tryExclusive(path)).toBeUndefined();
  expect((await holder({ PATH: join(folder, 'bin') })).stdout).toBe('busy\n');
});

it('says what to install where there is neither', async () => {
  expect((await holder({ PATH: folder })).stdout).toMatch(
    /neither flock .* nor perl is on the PATH\. Install one of them/,
  );
});
