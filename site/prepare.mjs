// @ts-check
// Makes the pages of the site from the documents of the repository: site/pages, and in its public folder llms.txt, llms-full.txt
// and each page as Markdown. `npm run build` in site/ runs it before VitePress.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runAsTool } from '../tools/run-as-tool.mjs';
import { LANGUAGES, PAGES } from './contents.mjs';
import { changeLinks, changeProse, plain, titleOf } from './markdown.mjs';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** The document of each page, by its path. */
export const PAGES_BY_PATH = new Map([...PAGES.values()].map(({ file, path }) => [path, file]));
/** Pictures of the documents, which are all in docs/. */
const PICTURE = /\.(webp|png|svg)$/;

/** @param {string} file */
const read = (file) => readFileSync(join(ROOT, file), 'utf8');

/**
 * Returns the target of a link of a document as a link of the site.
 * @param {string} file the document, from the root of the repository
 * @param {string} target
 * @throws Error for a document that is not a page
 */
export function siteLink(file, target) {
  const [path = '', anchor] = target.split('#');
  const wanted = path === '' ? file : posix.join(posix.dirname(file), path);
  const hash = anchor === undefined ? '' : `#${anchor}`;
  if (PICTURE.test(wanted)) return `/${posix.basename(wanted)}`;
  const page = PAGES.get(wanted);
  if (page === undefined)
    throw new Error(`${file} links to ${target}, which is not a page: add it to site/contents.mjs.`);
  return `/${page.path.replace(/(^|\/)index$/, '$1')}${hash}`;
}

/** Returns a document as Markdown of the site. @param {string} file */
const linked = (file) => changeLinks(read(file), (target) => siteLink(file, target));

/** Vue would read double braces as code. @param {string} text */
const forVue = (text) => changeProse(text, (prose) => prose.replaceAll('{{', '&#123;&#123;'));

/**
 * Returns the front page of a language: the first paragraph of its README becomes the sentence below the name.
 * @param {string} file
 * @param {readonly { text: string, link: string }[]} actions
 */
function homeOf(file, actions) {
  const [, sentence = '', ...rest] = linked(file).split('\n\n');
  // The badges are for readers who look at the repository or the package.
  const body = rest.filter((part) => !part.startsWith('[![')).join('\n\n');
  const tagline = plain(sentence.replaceAll('\n', ' ').replace(/ *\[(中文|English)\]\([^)]*\)/, ''));
  const head = {
    layout: 'home',
    title: 'luanest',
    description: tagline,
    hero: {
      name: 'luanest',
      tagline,
      actions: actions.map((action, i) => ({ theme: i === 0 ? 'brand' : 'alt', ...action })),
    },
  };
  // JSON is YAML.
  return `---\n${JSON.stringify(head, null, 2)}\n---\n\n<div class="vp-doc front">\n\n${forVue(body)}\n</div>\n`;
}

const ACTIONS = {
  en: [
    { text: 'Getting started', link: '/getting-started' },
    { text: 'Which module?', link: '/which-module' },
  ],
  'zh-CN': [
    { text: '快速开始', link: '/zh/getting-started' },
    { text: '哪个问题用哪个模块', link: '/zh/which-module' },
  ],
};

/** Returns the one-line descriptions of pages, by document: from the index of guides and the table of modules. */
export function descriptions() {
  /** @type {Map<string, string>} */
  const found = new Map();
  for (const index of ['docs/README.md', 'README.md']) {
    for (const [, target = '', about = ''] of read(index).matchAll(/^\| \[[^\]]+\]\(([^)]+)\) +\| (.+?) +\|/gm)) {
      found.set(posix.join(posix.dirname(index), target), plain(about));
    }
  }
  return found;
}

/**
 * Returns llms.txt (https://llmstxt.org): what the project is, and a line for each page, with the address of its Markdown.
 * @param {string} base address of the site, with a slash at its end
 */
export function llms(base) {
  const about = descriptions();
  const [, sentence = ''] = linked('README.md').split('\n\n');
  const sections = LANGUAGES.map(({ lang, sections }) =>
    sections.map(({ title, pages }) => {
      const lines = pages.map(({ file, path }) => {
        const text = about.get(file);
        return `- [${titleOf(read(file))}](${base}${path}.md)${text === undefined ? '' : `: ${text}`}`;
      });
      return [`## ${lang === 'en' ? title : `Optional: ${title}`}`, '', ...lines].join('\n');
    }),
  ).flat();
  return `${['# luanest', `> ${plain(sentence.replace(/ *\[中文\]\([^)]*\)/, '')).replaceAll('\n', ' ')}`, ...sections].join('\n\n')}\n`;
}

/** Returns llms-full.txt: all English pages as one text. @param {string} base */
export function llmsFull(base) {
  const english = LANGUAGES.filter(({ lang }) => lang === 'en').flatMap(({ home, sections }) => [
    home,
    ...sections.flatMap(({ pages }) => pages),
  ]);
  return english.map(({ file }) => absolute(linked(file), base)).join('\n\n---\n\n');
}

/** Makes links of the site absolute. @param {string} text @param {string} base */
const absolute = (text, base) => changeLinks(text, (link) => base + link.slice(1));

/** Returns all files of site/pages by path. @param {string} base address of the site, with a slash at its end */
export function pages(base) {
  /** @type {Map<string, string>} */
  const files = new Map();
  for (const { lang, home, sections } of LANGUAGES) {
    files.set(`${home.path}.md`, homeOf(home.file, ACTIONS[/** @type {keyof typeof ACTIONS} */ (lang)]));
    files.set(`public/${home.path}.md`, absolute(linked(home.file), base));
    for (const { file, path } of sections.flatMap(({ pages }) => pages)) {
      files.set(`${path}.md`, forVue(linked(file)));
      files.set(`public/${path}.md`, absolute(linked(file), base));
    }
  }
  files.set('public/llms.txt', llms(base));
  files.set('public/llms-full.txt', llmsFull(base));
  return files;
}

/** Returns the address of the site: the homepage of package.json, or the root of any host while that is a placeholder. */
export function baseOf() {
  const { homepage = '' } = JSON.parse(read('package.json'));
  if (homepage === '' || homepage.includes('OWNER')) return '/';
  return homepage.replace(/#.*$/, '').replace(/\/*$/, '/');
}

runAsTool(import.meta.url, () => {
  const target = join(ROOT, 'site', 'pages');
  rmSync(target, { recursive: true, force: true });
  for (const [path, text] of pages(baseOf())) {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    writeFileSync(join(target, path), text);
  }
  for (const picture of readdirSync(join(ROOT, 'docs')).filter((name) => PICTURE.test(name))) {
    cpSync(join(ROOT, 'docs', picture), join(target, 'public', picture));
  }
  cpSync(join(ROOT, 'site', 'favicon.svg'), join(target, 'public', 'favicon.svg'));
  return 0;
});
