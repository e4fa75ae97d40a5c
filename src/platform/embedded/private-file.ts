import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Makes a folder, and its parents, that only its owner may enter. */
export async function makePrivateFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
}

/** Replaces a file atomically, mode 0600. Readers see the old content or the new one, also after a crash. */
export async function writePrivateFile(path: string, content: string): Promise<void> {
  const draft = await writeDraft(path, content);
  await rename(draft, path);
  await syncFolder(dirname(path));
}

/**
 * Reads the secret of a file of mode 0600. Generates it if the file is missing. Processes that start together get the
 * same secret, because link(2) succeeds for exactly one complete file.
 *
 * @throws {Error} when the file is there but empty
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

/** Reads a text file without surrounding white space. Returns undefined if the file is missing. */
export async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    const content = (await readFile(path, 'utf8')).trim();
    if (content === '') throw new Error(`${path} is empty. Remove the file: the app generates it again.`);
    return content;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Syncs the names in a folder to the disk. fsync of the files does not do that. */
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
