import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Makes a folder, and its parents, that only its owner may enter. */
export async function makePrivateFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
}

/** Replaces a file at once, mode 0600: readers see the old content or the new one, also after a crash. */
export async function writePrivateFile(path: string, content: string): Promise<void> {
  const draft = await writeDraft(path, content);
  await rename(draft, path);
  await syncFolder(dirname(path));
}

/**
 * The secret kept in a file of mode 0600, generated when the file is missing. Processes that start together agree
 * on one secret, because link(2) gives the name to exactly one complete file.
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

/** Content of a text file without surrounding white space, or undefined when there is no such file. */
export async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    const content = (await readFile(path, 'utf8')).trim();
    if (content === '') throw new Error(`${path} is empty: remove it, so that it is generated again.`);
    return content;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Asks the disk to keep the names in a folder, which fsync on the files alone does not. */
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
