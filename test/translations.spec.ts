import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './support/snippets';

/** Chinese pages, and the English page whose code each one has. */
const ORIGINALS: Readonly<Record<string, string>> = {
  'README.zh-CN.md': 'README.md',
  'docs/four-uses.zh-CN.md': 'docs/four-uses.md',
  'docs/getting-started.zh-CN.md': 'docs/getting-started.md',
  'docs/red-packets.zh-CN.md': 'libs/red-packet/README.md',
  'docs/which-module.zh-CN.md': 'docs/which-module.md',
};

/** Code blocks of a page, each with its language, without comments, which are translated, and without blank lines. */
function codeOf(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```/gm)].map(([, language = '', code = '']) => {
    const comments = language === 'sh' ? /(^|\s)# .*$/gm : /\/\*\*?[\s\S]*?\*\/|(^|\s)\/\/ .*$/gm;
    const lines = code.replaceAll(comments, '').split('\n');
    return [language, ...lines.map((line) => line.trimEnd()).filter((line) => line !== '')].join('\n');
  });
}

describe('the Chinese pages', () => {
  it('are all compared', () => {
    const pages = ['.', 'docs'].flatMap((folder) => readdirSync(join(ROOT, folder)).map((file) => join(folder, file)));
    expect(pages.filter((file) => file.endsWith('.zh-CN.md')).sort()).toEqual(Object.keys(ORIGINALS).sort());
  });

  it.each(Object.entries(ORIGINALS))('%s has the code of %s', (page, original) => {
    expect(existsSync(join(ROOT, original))).toBe(true);
    expect(codeOf(page).length).toBeGreaterThan(original === 'docs/which-module.md' ? -1 : 1);
    expect(codeOf(page)).toEqual(codeOf(original));
  });
});
