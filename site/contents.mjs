// @ts-check
// Which documents are pages of the site, under which address, in which order. A new guide, or README of a lib, that is not listed here is
// a page of the last section.
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('../', import.meta.url);
/** @param {string} folder */
const namesIn = (folder) => readdirSync(fileURLToPath(new URL(folder, ROOT))).sort();

/**
 * A page. `file` is its document, from the root of the repository, `path` its address without a leading slash.
 * @typedef {{ file: string, path: string }} Page
 * @typedef {{ title: string, pages: readonly Page[] }} Section
 * @typedef {{ lang: string, label: string, home: Page, sections: readonly Section[] }} Language
 */

/** @param {readonly string[]} names @returns {Page[]} */
const guides = (...names) => names.map((name) => ({ file: `docs/${name}.md`, path: name }));
/** @param {readonly string[]} libs @returns {Page[]} */
const modules = (...libs) => libs.map((lib) => ({ file: `libs/${lib}/README.md`, path: `modules/${lib}` }));
/** @param {readonly string[]} names @returns {Page[]} */
const chinese = (...names) => names.map((name) => ({ file: `docs/${name}.zh-CN.md`, path: `zh/${name}` }));

/** @type {readonly Language[]} */
const LISTED = [
  {
    lang: 'en',
    label: 'English',
    home: { file: 'README.md', path: 'index' },
    sections: [
      { title: 'Start', pages: guides('getting-started', 'which-module', 'four-uses', 'comparison', 'queues') },
      {
        title: 'Modules',
        pages: modules(
          ...['rate-limit', 'once', 'lock', 'scheduled-lock', 'delayed-task', 'stream-consumer', 'outbox', 'transport'],
          ...['read-reward', 'red-packet', 'script-registry', 'console', 'metrics', 'testing'],
        ),
      },
      {
        title: 'In production',
        pages: guides(
          'production',
          'cli',
          'monitoring',
          'console',
          'redis-down',
          'errors',
          'cluster-and-sentinel',
          'managed-redis',
          'versions',
        ),
      },
      { title: 'Moving in', pages: guides('from-throttler', 'from-redlock', 'from-nest-schedule', 'from-shedlock') },
      { title: 'Scripts and tests', pages: guides('own-scripts', 'registry', 'testing', 'testing-servers') },
      { title: 'Measured', pages: guides('performance', 'sizes', 'servers', 'runtimes') },
      {
        title: 'The project',
        pages: [
          ...guides('demo'),
          { file: 'docs/README.md', path: 'guides' },
          { file: 'CHANGELOG.md', path: 'changelog' },
          { file: 'ARCHITECTURE.md', path: 'architecture' },
          ...modules('memory-redis'),
        ],
      },
    ],
  },
  {
    lang: 'zh-CN',
    label: '中文',
    home: { file: 'README.zh-CN.md', path: 'zh/index' },
    sections: [{ title: '中文文档', pages: chinese('getting-started', 'which-module', 'four-uses', 'red-packets') }],
  },
];

const listed = new Set(
  LISTED.flatMap(({ sections }) => sections.flatMap(({ pages }) => pages.map(({ file }) => file))),
);

/** Returns guides and READMEs that no section lists. @param {string} lang @returns {Page[]} */
function others(lang) {
  const docs = namesIn('docs/').filter((name) => name.endsWith('.md'));
  const inLanguage = docs.filter((name) => name.endsWith('.zh-CN.md') === (lang === 'zh-CN'));
  const names = inLanguage.map((name) => name.replace(/(\.zh-CN)?\.md$/, ''));
  if (lang === 'zh-CN') return chinese(...names).filter(({ file }) => !listed.has(file));
  const libs = namesIn('libs/').filter((lib) => existsSync(new URL(`libs/${lib}/README.md`, ROOT)));
  return [...guides(...names), ...modules(...libs)].filter(({ file }) => !listed.has(file));
}

/** @type {readonly Language[]} */
export const LANGUAGES = LISTED.map(({ sections, ...language }) => ({
  ...language,
  sections: sections.map((section, i) => ({
    ...section,
    pages: i === sections.length - 1 ? [...section.pages, ...others(language.lang)] : section.pages,
  })),
}));

/** All pages, by their document. @type {ReadonlyMap<string, Page>} */
export const PAGES = new Map(
  LANGUAGES.flatMap(({ home, sections }) => [home, ...sections.flatMap(({ pages }) => pages)]).map((page) => [
    page.file,
    page,
  ]),
);
