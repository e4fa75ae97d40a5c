// @ts-check
// npm run check:release: refuses a release with addresses that are still placeholders, or whose CHANGELOG has no date. npm runs it
// before it publishes (`prepublishOnly`). `--addresses` checks the addresses only, for the site.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runAsTool } from './run-as-tool.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Text in package.json while the owner of the repository is not known. */
const PLACEHOLDER = 'OWNER';

/**
 * @typedef {{
 *   name?: string, version?: string, author?: string, homepage?: string,
 *   repository?: { type?: string, url?: string }, bugs?: { url?: string },
 * }} Manifest
 */

/**
 * Returns what is wrong with the addresses of a package, a sentence each.
 * @param {Manifest} manifest
 */
export function wrongAddresses({ author, homepage, repository, bugs }) {
  /** @type {[string, string | undefined, RegExp][]} */
  const fields = [
    ['author', author, /^[^<>]*\S[^<>]*( <[^<>\s]+@[^<>\s]+>)?$/],
    ['homepage', homepage, /^https:\/\/[^/]+\.[^/]+(\/\S*)?$/],
    ['repository.url', repository?.url, /^git\+https:\/\/\S+\.git$/],
    ['bugs.url', bugs?.url, /^https:\/\/[^/]+\.[^/]+\/\S+$/],
  ];
  return fields.flatMap(([field, value, shape]) => {
    if (value === undefined || value === '') return [`package.json: ${field} is missing.`];
    if (value.includes(PLACEHOLDER))
      return [`package.json: ${field} is "${value}". Replace the placeholder ${PLACEHOLDER}.`];
    return shape.test(value) ? [] : [`package.json: ${field} is "${value}". Expected ${shape}.`];
  });
}

/**
 * Returns what is wrong with the CHANGELOG for a version, a sentence each.
 * @param {string} changelog
 * @param {string} [version]
 */
export function wrongChangelog(changelog, version) {
  const [, newest, said] = /^## (\S+)(?: \(([^)]*)\))?$/m.exec(changelog) ?? [];
  if (newest !== version) return [`CHANGELOG.md begins with version ${newest}. package.json has ${version}.`];
  return /^\d{4}-\d{2}-\d{2}$/.test(said ?? '')
    ? []
    : [`CHANGELOG.md: version ${version} is "${said}". Expected a date such as (2026-11-29).`];
}

runAsTool(import.meta.url, (args) => {
  const manifest = /** @type {Manifest} */ (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));
  const wrong = wrongAddresses(manifest);
  if (!args.includes('--addresses')) {
    wrong.push(...wrongChangelog(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'), manifest.version));
  }
  for (const sentence of wrong) console.error(sentence);
  return wrong.length > 0 ? 1 : 0;
});
