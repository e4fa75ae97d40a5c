// @ts-check
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Runs `main` if Node was started with this file, and not if another file imports it. A thrown error is printed without its
 * stack, and the exit status is then 1.
 *
 * @param {string} url `import.meta.url` of the file
 * @param {(args: string[]) => number} main gets the arguments of the command line, returns the exit status
 */
export function runAsTool(url, main) {
  if (!process.argv[1] || realpathSync(process.argv[1]) !== fileURLToPath(url)) return;
  try {
    process.exitCode = main(process.argv.slice(2));
  } catch (error) {
    console.error(/** @type {Error} */ (error).message);
    process.exitCode = 1;
  }
}
