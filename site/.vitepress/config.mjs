// @ts-check
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import { LANGUAGES } from '../contents.mjs';
import { slugOf, titleOf } from '../markdown.mjs';
import { baseOf, descriptions, PAGES_BY_PATH, ROOT } from '../prepare.mjs';

const address = baseOf();
const base = address.startsWith('http') ? new URL(address).pathname : '/';
const about = descriptions();

/** @param {string} lang */
const sidebarOf = (lang) =>
  LANGUAGES.filter((language) => language.lang === lang).flatMap(({ sections }) =>
    sections.map(({ title, pages }) => ({
      text: title,
      items: pages.map(({ file, path }) => ({
        text: titleOf(readFileSync(join(ROOT, file), 'utf8')).replace(/^luanest\//, ''),
        link: `/${path}`,
      })),
    })),
  );

/**
 * Words of a text for the search. Chinese has no spaces, so each pair of its characters is a word. VitePress sends the source of this
 * function to the browser, so it uses nothing from outside.
 * @param {string} text
 */
const tokenize = (text) =>
  text
    .split(/[\s\p{P}\p{Z}=<>+|`$^]+/u)
    .flatMap((word) => {
      const chinese = word.match(/\p{Script=Han}+/gu) ?? [];
      const pairs = chinese.flatMap((run) =>
        run.length < 2 ? [run] : Array.from({ length: run.length - 1 }, (_, i) => run.slice(i, i + 2)),
      );
      return [...pairs, ...word.split(/\p{Script=Han}+/u)];
    })
    .filter((word) => word !== '');

export default defineConfig({
  title: 'luanest',
  description: 'NestJS modules for operations that must be atomic in Redis',
  base,
  head: [['link', { rel: 'icon', href: `${base}favicon.svg` }]],
  srcDir: 'pages',
  srcExclude: ['public/**'],
  outDir: 'dist',
  cacheDir: 'node_modules/.cache',
  cleanUrls: true,
  ...(address.startsWith('http') && { sitemap: { hostname: address } }),
  // The search index of all English pages is one file, which loads when the search is opened.
  vite: { build: { chunkSizeWarningLimit: 2_000 } },
  markdown: {
    anchor: { slugify: slugOf },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  transformPageData(page) {
    const document = PAGES_BY_PATH.get(page.relativePath.replace(/\.md$/, ''));
    const text = document && about.get(document);
    if (text !== undefined) page.description = text;
  },
  locales: {
    root: {
      label: 'English',
      lang: 'en',
      themeConfig: {
        nav: [
          { text: 'Getting started', link: '/getting-started' },
          { text: 'Which module?', link: '/which-module' },
          { text: 'Errors', link: '/errors' },
          { text: 'Versions', link: '/versions' },
        ],
        sidebar: sidebarOf('en'),
      },
    },
    zh: {
      label: '中文',
      lang: 'zh-CN',
      description: '用于实现必须在 Redis 中原子执行的操作的 NestJS 模块',
      themeConfig: {
        nav: [
          { text: '快速开始', link: '/zh/getting-started' },
          { text: '选哪个模块', link: '/zh/which-module' },
          { text: '英文文档', link: '/guides' },
        ],
        sidebar: [
          ...sidebarOf('zh-CN'),
          ...sidebarOf('en').map((section) => ({ ...section, text: `英文：${section.text}` })),
        ],
        outline: { level: [2, 3], label: '本页目录' },
        docFooter: { prev: '上一页', next: '下一页' },
        darkModeSwitchLabel: '外观',
        lightModeSwitchTitle: '切换到浅色',
        darkModeSwitchTitle: '切换到深色',
        sidebarMenuLabel: '目录',
        returnToTopLabel: '回到顶部',
        langMenuLabel: '语言',
        skipToContentLabel: '跳到正文',
        notFound: { title: '没有这个页面', quote: '地址可能写错了，或者页面已经移动。', linkText: '回到首页' },
      },
    },
  },
  themeConfig: {
    // A page without a translation has no address in the other language. The pages that have one link to it.
    i18nRouting: false,
    outline: { level: [2, 3] },
    search: {
      provider: 'local',
      options: {
        miniSearch: { options: { tokenize }, searchOptions: { combineWith: 'AND', prefix: true, fuzzy: 0.1 } },
        locales: {
          zh: {
            translations: {
              button: { buttonText: '搜索', buttonAriaLabel: '搜索' },
              modal: {
                noResultsText: '没有结果',
                resetButtonTitle: '清除',
                backButtonTitle: '关闭',
                displayDetails: '显示详情',
                footer: { selectText: '选择', navigateText: '移动', closeText: '关闭' },
              },
            },
          },
        },
      },
    },
  },
});
