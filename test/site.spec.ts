import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brokenLinks } from '../site/check-links.mjs';
import { LANGUAGES, PAGES } from '../site/contents.mjs';
import { changeLinks, plain, slugOf, titleOf } from '../site/markdown.mjs';
import { llms, llmsFull, pages, siteLink } from '../site/prepare.mjs';
import { anchorsOf } from './support/markdown';
import { ROOT } from './support/snippets';

const BASE = 'https://example.org/luanest/';
const files = pages(BASE);
const text = (path: string): string => files.get(path) ?? '';

describe('the contents of the site', () => {
  it('have each guide and each README of a lib, once', () => {
    const guides = readdirSync(join(ROOT, 'docs')).filter((file) => file.endsWith('.md'));
    const libs = readdirSync(join(ROOT, 'libs')).map((lib) => `libs/${lib}/README.md`);
    const wanted = [
      ...['README.md', 'README.zh-CN.md', 'ARCHITECTURE.md', 'CHANGELOG.md'],
      ...guides.map((file) => `docs/${file}`),
      ...libs.filter((file) => existsSync(join(ROOT, file))),
    ];
    const listed = LANGUAGES.flatMap(({ home, sections }) => [home, ...sections.flatMap((section) => section.pages)]);
    expect(listed.map(({ file }) => file).sort()).toEqual(wanted.sort());
    expect(new Set(listed.map(({ path }) => path)).size).toBe(listed.length);
  });

  it('have Chinese pages at the addresses of the English ones', () => {
    const paths = new Set([...PAGES.values()].map(({ path }) => path));
    const chinese = [...paths].filter((path) => path.startsWith('zh/') && path !== 'zh/red-packets');
    expect(chinese.length).toBeGreaterThan(2);
    expect(chinese.filter((path) => !paths.has(path.slice(3)))).toEqual([]);
  });
});

describe('the pages of the site', () => {
  /** Paths and anchors of all pages, as links of the site. */
  const targets = new Set(
    [...PAGES.values()].flatMap(({ file, path }) => {
      const page = `/${path.replace(/(^|\/)index$/, '$1')}`;
      return [page, ...anchorsOf(file).map((anchor) => `${page}#${anchor}`)];
    }),
  );

  it('link to each other, and to headings that are there', () => {
    let links = 0;
    const broken: string[] = [];
    for (const { path } of PAGES.values()) {
      changeLinks(text(`${path}.md`), (link) => {
        links += 1;
        const picture = /\.(webp|svg)$/.test(link) && existsSync(join(ROOT, 'docs', link));
        if (!picture && !targets.has(link)) broken.push(`${path}: ${link}`);
        return link;
      });
    }
    expect(broken).toEqual([]);
    expect(links).toBeGreaterThan(150);
  });

  it('keep the code of the documents, and have no double braces outside it, which Vue would run', () => {
    for (const { file, path } of PAGES.values()) {
      const code = (markdown: string): string[] => markdown.match(/^```[\s\S]*?^```/gm) ?? [];
      expect(code(text(`${path}.md`))).toEqual(code(readFileSync(join(ROOT, file), 'utf8')));
      expect([path, text(`${path}.md`).replaceAll(/^```[\s\S]*?^```/gm, '')]).toEqual([
        path,
        expect.not.stringMatching('{{'),
      ]);
    }
  });

  it('refuse a link to a document that is not a page', () => {
    expect(() => siteLink('README.md', 'CONTRIBUTING.md')).toThrow(
      'README.md links to CONTRIBUTING.md, which is not a page: add it to site/contents.mjs.',
    );
  });

  it('begin with the sentence of the front page', () => {
    for (const { home } of LANGUAGES) {
      const head = JSON.parse(text(`${home.path}.md`).split('---\n')[1] ?? '') as { hero: { tagline: string } };
      const front = readFileSync(join(ROOT, home.file), 'utf8').replaceAll('\n', ' ');
      expect(head.hero.tagline.length).toBeGreaterThan(20);
      expect(front).toContain(head.hero.tagline);
    }
  });
});

describe('what the site has for language models', () => {
  it('lists each page with an address at which its Markdown is', () => {
    const list = llms(BASE);
    const listed = [...list.matchAll(/^- \[[^\]]+\]\(([^)]+)\)/gm)].map(([, address = '']) => address);
    expect(listed).toHaveLength(PAGES.size - LANGUAGES.length);
    expect(listed.filter((address) => !files.has(`public/${address.slice(BASE.length)}`))).toEqual([]);
    expect(list.split('\n')[2]).toMatch(/^> Rate limits, .+ Redis\.$/);
    expect(text('public/llms.txt')).toBe(list);
  });

  it('describes each English guide and module in a line', () => {
    const silent = llms(BASE)
      .split('\n')
      .filter((line) => /^- \[.*\)$/.test(line) && !line.includes('/zh/'));
    const aboutTheProject = /\((?:.*\/)?(?:guides|changelog|architecture|modules\/memory-redis)\.md\)$/;
    expect(silent.filter((line) => !aboutTheProject.test(line))).toEqual([]);
  });

  it('has all English documents in one text, with whole addresses', () => {
    const full = llmsFull(BASE);
    for (const { file } of [...PAGES.values()].filter(({ path }) => !path.startsWith('zh/'))) {
      expect(full).toContain(`# ${/^# (.+)$/m.exec(readFileSync(join(ROOT, file), 'utf8'))?.[1] ?? file}\n`);
    }
    expect(full).toContain(`](${BASE}modules/lock`);
    expect(full.replaceAll(/^```[\s\S]*?^```/gm, '')).not.toMatch(/\]\((?![a-z]+:)/);
  });
});

describe('how the site reads Markdown', () => {
  it('makes the anchors of GitHub', () => {
    expect(slugOf('Replicas and `WAIT`')).toBe('replicas-and-wait');
    expect(slugOf('第一个脚本：`run`')).toBe('第一个脚本run');
  });

  it('leaves code blocks and addresses alone', () => {
    const page = '[a](b.md) <img src="c.webp"> [d](https://example.org)\n```md\n[e](f.md)\n```\n[g](h.md#i)\n';
    expect(changeLinks(page, (target) => `/${target}`)).toBe(
      '[a](/b.md) <img src="/c.webp"> [d](https://example.org)\n```md\n[e](f.md)\n```\n[g](/h.md#i)\n',
    );
  });

  it('takes the title without marks', () => {
    expect(titleOf('# From `a` to [b](c.md)\n')).toBe('From a to b');
    expect(() => titleOf('text')).toThrow('There is no title in "text"');
    expect(plain('**x** `y`')).toBe('x y');
  });
});

describe('the check of the built site', () => {
  const page = (body: string): ReadonlyMap<string, string> =>
    new Map([
      ['index.html', body],
      ['zh/lock.html', '<h2 id="wait">'],
    ]);
  const found = new Set(['index.html', 'zh/lock.html', 'a.css']);

  it.each([
    ['a page without its ending', '<a class="x" href="/base/zh/lock">', []],
    ['a heading', '<a href="/base/zh/lock#wait">', []],
    ['a file', '<link rel="stylesheet" href="/base/a.css">', []],
    ['another site', '<a href="https://example.org/x">', []],
    ['a page that is not there', '<a href="/base/locks">', ['index.html: /base/locks']],
    ['a heading that is not there', '<a href="/base/zh/lock#no">', ['index.html: /base/zh/lock#no']],
    ['a picture that is not there', '<img alt="" src="/base/b.webp">', ['index.html: /base/b.webp']],
    ['a place outside the site', '<a href="/other">', ['index.html: /other']],
  ])('knows %s', (_what, body, wanted) => {
    expect(brokenLinks(page(body), found, '/base/')).toEqual(wanted);
  });
});
