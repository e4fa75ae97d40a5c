import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { exportedLibs } from './support/libs';
import { anchorsOf, linksOf } from './support/markdown';
import { documents, ROOT, snippetsOf } from './support/snippets';

const HEADINGS = [
  'What it does',
  'What it is not',
  'Quick start',
  'Options',
  'Behaviour',
  'Redis footprint',
  'When Redis fails',
  'Troubleshooting',
];

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

describe('snippets of the documents', () => {
  it('exist in every page except those that show no TypeScript', () => {
    const without = [
      'ARCHITECTURE.md',
      'docs/README.md',
      'docs/cli.md',
      'docs/comparison.md',
      'docs/console.md',
      'docs/cli.md',
      'docs/queues.md',
      'docs/sizes.md',
      'docs/versions.md',
      'docs/which-module.md',
      'docs/demo.md',
      'docs/monitoring.md',
      'docs/performance.md',
      'docs/runtimes.md',
      'docs/servers.md',
    ];
    for (const file of documents().filter((name) => !without.includes(name))) {
      expect([file, snippetsOf(file).size]).not.toEqual([file, 0]);
    }
  });

  it('have different names', () => {
    const all = documents().flatMap((file) => [...snippetsOf(file).keys()]);
    expect(new Set(all).size).toBe(all.length);
  });
});

describe('documents', () => {
  it.each(exportedLibs())('%s has a guide with the headings that all have', (lib) => {
    const headings = [...read(`libs/${lib}/README.md`).matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual(HEADINGS);
  });

  it('link to existing files and headings', () => {
    const translations = [
      'README.zh-CN.md',
      ...['four-uses', 'getting-started', 'red-packets', 'which-module'].map((page) => `docs/${page}.zh-CN.md`),
    ];
    const broken = [
      ...documents(),
      ...translations,
      'CONTRIBUTING.md',
      'SECURITY.md',
      'CHANGELOG.md',
      'bench/README.md',
      'proofs/README.md',
      'test/README.md',
      'tools/README.md',
    ].flatMap((file) =>
      linksOf(file)
        .filter(({ path, anchor }) => !existsSync(join(ROOT, path)) || (anchor && !anchorsOf(path).includes(anchor)))
        .map(({ path, anchor = '' }) => `${file}: ${path}#${anchor}`),
    );
    expect(broken).toEqual([]);
  });

  it('write no method of a service as if it were static', () => {
    const found = documents().flatMap((file) =>
      [...read(file).matchAll(/\b[A-Z]\w+Service\.[a-z]\w*\(/g)].map(([call]) => `${file}: ${call}`),
    );
    expect(found).toEqual([]);
  });

  it('of docs/ are all in the index of guides, and the front page links to it', () => {
    const pages = readdirSync(join(ROOT, 'docs')).filter((file) => file.endsWith('.md') && file !== 'README.md');
    expect(pages.filter((page) => !read('docs/README.md').includes(`](${page})`))).toEqual([]);
    expect(read('README.md')).toContain('](docs/README.md)');
  });
});
