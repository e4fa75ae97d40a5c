import { rmSync } from 'node:fs';
import { FOLDER } from './folder';

/** Removes the apps, unless LUANEST_KEEP_APPS is set. */
export default function teardown(): void {
  const folder = process.env[FOLDER];
  if (folder !== undefined && !process.env.LUANEST_KEEP_APPS) rmSync(folder, { recursive: true, force: true });
}
