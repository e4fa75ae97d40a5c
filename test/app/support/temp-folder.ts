import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new empty folder for one test. */
export function makeTempFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'luanest-app-'));
}

/** Removes a folder of {@link makeTempFolder}. */
export function removeFolder(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true, maxRetries: 5 });
}
