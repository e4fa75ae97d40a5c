import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FOLDER } from './folder';
import { run } from './run';

/** Packs the build as npm publishes it. */
export default async function setup(): Promise<void> {
  const root = join(__dirname, '..', '..', '..');
  if (!existsSync(join(root, 'dist', 'libs'))) throw new Error('There is no build, run "npm run build" first.');
  const folder = mkdtempSync(join(tmpdir(), 'luanest-package-'));
  process.env[FOLDER] = folder;
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: root });
}
