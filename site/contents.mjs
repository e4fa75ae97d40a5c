// @ts-check
// Which documents are pages of the site, under which address, in which order.

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
export const LANGUAGES = [
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
          ...['read-reward', 'red-packet', 'script-registry', 'metrics', 'testing'],
        ),
      },
      {
        title: 'In production',
        pages: guides('production', 'redis-down', 'errors', 'cluster-and-sentinel', 'managed-redis', 'versions'),
      },
      { title: 'Moving in', pages: guides('from-throttler', 'from-redlock', 'from-shedlock') },
      { title: 'Scripts and tests', pages: guides('own-scripts', 'registry', 'testing', 'testing-servers') },
      { title: 'Measured', pages: guides('performance', 'servers', 'runtimes') },
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

/** All pages, by their document. @type {ReadonlyMap<string, Page>} */
export const PAGES = new Map(
  LANGUAGES.flatMap(({ home, sections }) => [home, ...sections.flatMap(({ pages }) => pages)]).map((page) => [
    page.file,
    page,
  ]),
);
