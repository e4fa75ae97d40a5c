import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Name of the variable with the folder of the tarball and the apps, for the workers. */
export const FOLDER = 'LUANEST_PACKAGE_FOLDER';

/** Name of the file there that lists what was installed, a line for each app. */
export const INSTALLED = 'installed.txt';

/** Where the tarball and the apps are. */
export function folder(): string {
  const path = process.env[FOLDER];
  if (path === undefined) throw new Error('Run this by "npm run test:package".');
  return path;
}

/** The packed luanest. */
export function tarball(): string {
  const file = readdirSync(folder()).find((name) => name.endsWith('.tgz'));
  if (file === undefined) throw new Error(`No tarball in ${folder()}.`);
  return join(folder(), file);
}
