import { existsSync } from 'node:fs';
import { cp, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PgliteDatabase } from '../../../src/ledger/pglite-database';
import './quick-wasm.cjs';

/** A new empty folder for one test. */
export function makeTempFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'luanest-app-'));
}

/**
 * A new data folder for an app, with an empty database in it. To make a database takes five seconds of CPU; a copy of one takes
 * none. An app that starts on {@link makeTempFolder} makes its own.
 */
export async function makeDataFolder(): Promise<string> {
  const folder = await makeTempFolder();
  await cp(await emptyDatabase(), join(folder, 'ledger'), { recursive: true, preserveTimestamps: true });
  return folder;
}

/** Removes a folder of {@link makeTempFolder} or {@link makeDataFolder}. */
export function removeFolder(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true, maxRetries: 5 });
}

/** An empty database that all test files of this machine copy: made once for each version of PGlite, before migrations. */
async function emptyDatabase(): Promise<string> {
  const manifest = join(dirname(require.resolve('@electric-sql/pglite')), '..', 'package.json');
  const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string };
  const template = join(tmpdir(), `luanest-empty-database-${version}`);
  if (existsSync(template)) return template;
  const draft = join(await makeTempFolder(), 'ledger');
  await (await PgliteDatabase.open(draft)).close();
  // Another test file may have been quicker. Both made the same.
  await rename(draft, template).catch((error: unknown) => {
    if (!existsSync(template)) throw error;
  });
  await removeFolder(dirname(draft));
  return template;
}
