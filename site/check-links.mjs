// @ts-check
// Checks the built site: each link, picture and script of each page leads to a file of it, and to an id that is there.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runAsTool } from '../tools/run-as-tool.mjs';

const DIST = fileURLToPath(new URL('dist/', import.meta.url));

/**
 * Returns the broken links, each as "page: link".
 * @param {ReadonlyMap<string, string>} texts text of the HTML pages of the site, by path
 * @param {ReadonlySet<string>} files paths of all files
 * @param {string} base path of the site on its host, with slashes around it
 */
export function brokenLinks(texts, files, base) {
  /** @type {Map<string, Set<string>>} */
  const ids = new Map();
  for (const [page, html] of texts) {
    ids.set(page, new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => decodeEntities(id))));
  }
  return [...texts].flatMap(([page, html]) =>
    [...html.matchAll(/<(?:a|img|link|script)\b[^>]*?\s(?:href|src)="([^"]+)"/g)]
      .map(([, link = '']) => decodeEntities(link))
      .filter((link) => !/^([a-z]+:|\/\/)/.test(link))
      .filter((link) => {
        const { pathname, hash } = new URL(link, `https://site${base}${page}`);
        if (!pathname.startsWith(base)) return true;
        const path = decodeURIComponent(pathname.slice(base.length));
        const file = [path, `${path}.html`, `${path}index.html`].find((name) => files.has(name));
        if (file === undefined) return true;
        return hash !== '' && texts.has(file) && !ids.get(file)?.has(decodeURIComponent(hash.slice(1)));
      })
      .map((link) => `${page}: ${link}`),
  );
}

/** @param {string} text */
const decodeEntities = (text) => text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');

runAsTool(import.meta.url, () => {
  const files = readdirSync(DIST, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(DIST.length));
  const pages = files.filter((file) => file.endsWith('.html') && file !== '404.html');
  const texts = new Map(pages.map((file) => [file, readFileSync(join(DIST, file), 'utf8')]));
  const base = /<link rel="preload stylesheet" href="([^"]*?)assets\//.exec(texts.get('index.html') ?? '')?.[1];
  if (base === undefined) throw new Error('site/dist has no front page with a stylesheet.');
  const broken = brokenLinks(texts, new Set(files), base);
  if (broken.length > 0) throw new Error(`Broken links:\n${broken.join('\n')}`);
  console.log(`${pages.length} pages, no broken link`);
  return 0;
});
