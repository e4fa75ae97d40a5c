import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { badgesOf, svgOf, textOf } from '../tools/badges.mjs';
import { exportedLibs } from './support/libs';
import { blocksOf, tableOf, words } from './support/markdown';
import { ROOT } from './support/snippets';

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const badges = badgesOf(JSON.parse(read('package.json')) as Parameters<typeof badgesOf>[0]);

it('docs/badges.svg is what package.json says: run npm run generate:badges', () => {
  expect(read('docs/badges.svg')).toBe(svgOf(badges));
  expect(badges.filter(([, value]) => value === '')).toEqual([]);
});

describe.each([
  ['README.md', ['module', 'gives you', 'stability'], { stable: 'stable', beta: 'beta' }],
  ['README.zh-CN.md', ['模块', '用途', '稳定性'], { stable: '稳定', beta: '测试阶段' }],
])('%s', (page, header, words_) => {
  const text = read(page);

  it('has the badges for readers who do not see pictures', () => {
    expect(text).toContain(`![${textOf(badges)}](docs/badges.svg)`);
  });

  it('has at most 120 lines, and a whole program before the table of modules', () => {
    expect(text.split('\n').length).toBeLessThanOrEqual(121);
    const [program = ''] = blocksOf(page, 'ts');
    expect(program).toContain('NestFactory.create');
    expect(text.indexOf(program)).toBeLessThan(text.indexOf('libs/rate-limit/README.md'));
  });

  it('has each module, with the stability that docs/versions.md says', () => {
    const stable = /^- \*\*stable\*\*: ([\w, -]+)\./m.exec(read('docs/versions.md'))?.[1]?.split(', ') ?? [];
    const rows = tableOf(page, ...header).map(([module, , stability]) => [words(module)[0], stability]);
    const wanted = exportedLibs().map((lib) => [`luanest/${lib}`, stable.includes(lib) ? words_.stable : words_.beta]);
    expect(stable.length).toBeGreaterThan(0);
    expect(rows.sort()).toEqual(wanted.sort());
  });

  it('takes its numbers from docs/performance.md', () => {
    const source = read('docs/performance.md').replaceAll(/\s+/g, ' ');
    const said = [
      'one rate-limit rule took 0.86 of the Redis time of rate-limiter-flexible',
      'a lock and its release 1.6 of redlock',
      '| 1,000 streams with a consumer each, one registry | 27,000 | 1.2 ',
    ];
    expect(said.filter((sentence) => !source.includes(sentence))).toEqual([]);
    const costs = /## (?:What it costs|开销)\n([\s\S]*?)\n## /.exec(text)?.[1] ?? '';
    expect(costs.match(/\d[\d,]*\.\d+|\d{1,3}(?:,\d{3})+/g)).toEqual(['0.86', '1.6', '1,000', '1.2']);
  });
});
