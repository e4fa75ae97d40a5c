import { randomBytes } from 'node:crypto';
import { chmod, link, mkdir, open, readdir, readFile, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Makes a folder, and missing parents, that only the owner may enter. An existing folder keeps its mode. */
export async function makePrivateFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
}

/**
 * Makes a folder that only the owner may enter, and closes an empty one to others. One that has files keeps its mode, because others
 * may need them.
 *
 * @returns true if only the owner may enter
 */
export async function claimFolder(path: string): Promise<boolean> {
  await makePrivateFolder(path);
  if ((await readdir(path)).length === 0) await chmod(path, 0o700);
  return ((await stat(path)).mode & 0o077) === 0;
}

/** Replaces a file atomically by one of mode 0600. Readers see the old or the new content, also after a crash. */
export async function writePrivateFile(path: string, content: string): Promise<void> {
  const draft = await writeDraft(path, content);
  await rename(draft, path);
  await syncFolder(dirname(path));
}

/**
 * Reads a secret from a file. If the file is missing, generates it with mode 0600. Processes that start together get the same
 * secret, because link(2) succeeds for one of them, and only with a complete file.
 *
 * @throws {Error} if the file is empty, or cannot be read or made
 */
export async function readOrCreateSecret(path: string): Promise<string> {
  const existing = await readIfPresent(path);
  if (existing !== undefined) return existing;
  await makePrivateFolder(dirname(path));
  const draft = await writeDraft(path, `${randomBytes(32).toString('hex')}\n`);
  try {
    await link(draft, path);
    await syncFolder(dirname(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await unlink(draft);
  }
  return readOrCreateSecret(path);
}

/**
 * Reads a text file, and removes white space at both ends. Returns undefined if the file is missing.
 *
 * @throws {Error} if the file is empty or cannot be read
 */
export async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    const content = (await readFile(path, 'utf8')).trim();
    if (content === '') throw new Error(`${path} is empty. Remove the file, and the app generates it again.`);
    return content;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Syncs the names in a folder to the disk. An fsync of the files syncs their content only. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function writeDraft(path: string, content: string): Promise<string> {
  const draft = join(dirname(path), `.draft-${process.pid}-${randomBytes(6).toString('hex')}`);
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  return draft;
}
