import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findWords } from './check-words.mjs';
import { NOT_CLEAN_YET, WORDS } from './words.mjs';

/** Lines and words that are found in a file. */
const found = (path: string, content: string): string[] =>
  findWords(path, content).map(({ line, word }) => `${line} ${word}`);

describe('tools/check-words.mjs', () => {
  it.each([
    ['It tells the caller.', 'tells'],
    ['It says of each call.', 'says of'],
    ['It begins anew.', 'anew'],
    ['It is beside the app.', 'beside'],
    ['The rows are held against the ledger.', 'held against'],
    ['It holds every packet and every cent against it.', 'holds every packet and every cent against'],
    ['It mends the key.', 'mends'],
    ['One in the place of another.', 'in the place of'],
    ['A getter is no method.', 'is no method'],
    ['A name that is none.', 'is none'],
    ['What was learned.', 'learned'],
    ['While Redis is away.', 'is away'],
    ['A user and his packet.', 'his'],
    ['It refuses nonsense.', 'nonsense'],
    ['Renewed as long as the lease lasts.', 'as long as the lease lasts'],
    ['Now and then it looks.', 'Now and then'],
    ['The figures of a rule.', 'figures'],
    ['Two calls are under way.', 'under way'],
    ['A later lock wins.', 'later lock'],
    ['Keys are spread over slots.', 'spread over'],
    ['The dead payouts.', 'dead payouts'],
    ['It stands on a method.', 'stands on'],
  ])('finds the word in "%s"', (text, word) => {
    expect(found('a.md', text)).toContain(`1 ${word}`);
    expect(found('a.ts', `const a = 1; // ${text}\n`)).toContain(`1 ${word}`);
    expect(found('a.lua', `local a = 1 -- ${text}\n`)).toContain(`1 ${word}`);
    expect(found('a.ts', `it('${text}', () => {});`)).toContain(`1 ${word}`);
  });

  it.each(['What it holds.', 'Whether it runs.', 'Answers the count.'])(
    'looks at how a doc comment opens: %s',
    (text) => {
      expect(found('a.ts', `/** ${text} */\nconst a = 1;`)).toHaveLength(1);
      expect(found('a.ts', `/**\n * ${text}\n */\nconst a = 1;`)).toEqual([expect.stringMatching(/^2 /)]);
      expect(found('a.ts', `// ${text}\nconst a = 1;`)).toEqual([]);
      expect(found('a.ts', `/** Count. ${text} */\nconst a = 1;`)).toEqual([]);
    },
  );

  it('finds phrases across the lines of a comment or a page', () => {
    expect(found('a.ts', '/**\n * Is looked at now\n * and then.\n */\nconst a = 1;')).toEqual(['2 now and then']);
    expect(found('a.ts', '// Is looked at now\n// and then.\nconst a = 1;')).toEqual(['1 now and then']);
    expect(found('a.lua', '-- Is looked at now\n-- and then.\nlocal a = 1')).toEqual(['1 now and then']);
    expect(found('a.md', 'Is looked at now\nand then.')).toEqual(['1 now and then']);
  });

  it('leaves code alone', () => {
    const code = [
      "import { told } from './figures/anew';",
      'const told = figures.beside(his); // `told` and `figures.beside()`',
      "const kind = 'told';",
      '/** @param told {@link Anew figures} */',
      'function he(told: number): string { return `${told} ${figures}`; }',
      '// see src/figures/told.ts, libs/anew and https://example.com/figures',
      '// foretold, takeTold, told_at, heading, there is no lock, it is no longer held',
    ].join('\n');
    expect(found('a.ts', code)).toEqual([]);
    expect(found('a.mjs', code.replaceAll(/: (?:number|string)/g, ''))).toEqual([]);
    expect(found('a.lua', "local told = redis.call('GET', figures) -- `told`\n")).toEqual([]);
  });

  it('leaves code and addresses in pages alone, and reads the comments of their TypeScript', () => {
    const page = [
      '`told`, [a link](figures.md#anew)',
      '```sh',
      'told # told',
      '```',
      '```ts',
      'told(); // anew',
      '```',
    ];
    expect(found('a.md', page.join('\n'))).toEqual(['6 anew']);
  });

  it('reads the parts of a template, and not what is put in', () => {
    expect(found('a.ts', 'throw new Error(`${told} is told ${figures} anew here`);')).toEqual(['1 told', '1 anew']);
  });

  it('names the file, the line, the word and what to write, and fails', () => {
    const folder = mkdtempSync(join(tmpdir(), 'luanest-words-'));
    try {
      const file = join(folder, 'page.md');
      const run = (): ReturnType<typeof spawnSync> =>
        spawnSync(process.execPath, [join(__dirname, 'check-words.mjs'), file], { encoding: 'utf8' });
      writeFileSync(file, 'Good.\n\nIt is told anew.\n');
      const { status, stderr } = run();
      expect(status).toBe(1);
      expect(stderr).toMatch(/page\.md:3 {2}told {2}-> {2}returns, reports/);
      expect(stderr).toMatch(/page\.md:3 {2}anew {2}-> {2}again\n2 words to replace/);
      writeFileSync(file, 'Good.\n');
      expect(run()).toMatchObject({ status: 0, stderr: '' });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('has one rule for a word, and each unclean folder once', () => {
    const patterns = WORDS.map(({ pattern }) => pattern);
    expect(new Set(patterns).size).toBe(patterns.length);
    expect(new Set(NOT_CLEAN_YET).size).toBe(NOT_CLEAN_YET.length);
  });
});
