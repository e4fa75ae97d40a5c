import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { allReferences, decisionDocuments, decisionsIn, faultsIn, referencesIn } from './support/decisions';

const read = (file: string): string => readFileSync(join(__dirname, '..', file), 'utf8');

const SAMPLE = `# Decisions of a sample

- All: [one](#one), [two-takes](#two-takes)

## All

### one

- **Context:** Why it was needed,
  on two lines.
- **Decision:** What was decided.
- **Cost:** What it costs.
- **Date:** 2026-11-20

### two-takes

- **Context:** Why.
- **Decision:** What.
- **Cost:** Time.
- **Measurement:** 1 µs, 10 runs.
- **Date:** 2026-11-20, revised 2026-11-22
`;

const see = (what: string): string => `// See ${what}`;

// Decisions are documents, too. See DECISIONS.md: documents-are-run
describe('documents of decisions', () => {
  it.each(decisionDocuments())('%s has complete decisions with names of their own, all listed at the top', (file) => {
    expect(decisionsIn(read(file))).not.toEqual([]);
    expect(faultsIn(read(file))).toEqual([]);
  });

  it('are named in ARCHITECTURE.md, which has none of its own', () => {
    const outside = decisionDocuments().filter((file) => !file.startsWith('libs/'));
    expect(outside).not.toEqual([]);
    expect(outside.filter((file) => !read('ARCHITECTURE.md').includes(`\`${file}\``))).toEqual([]);
    expect(decisionsIn(read('ARCHITECTURE.md')).filter(({ parts }) => parts.size > 0)).toEqual([]);
  });
});

describe('references to decisions', () => {
  it('name decisions that exist', () => {
    const names = new Map(
      decisionDocuments().map((file) => [file, decisionsIn(read(file)).map(({ name }) => name)] as const),
    );
    const references = allReferences();
    const broken = references.filter(({ document, name }) => !names.get(document ?? '')?.includes(name));
    expect(broken).toEqual([]);
    expect(references).toContainEqual({
      file: 'test/decisions.spec.ts',
      name: 'documents-are-run',
      document: 'test/DECISIONS.md',
    });
  });

  it('mean the nearest document above a file, unless they name another one', () => {
    expect(
      referencesIn('libs/lock/src/lease/lease.ts', `${see('DECISIONS.md: a-b.')}\n${see('src/DECISIONS.md: c')}`),
    ).toEqual([
      { file: 'libs/lock/src/lease/lease.ts', name: 'a-b', document: 'libs/lock/DECISIONS.md' },
      { file: 'libs/lock/src/lease/lease.ts', name: 'c', document: 'src/DECISIONS.md' },
    ]);
    expect(referencesIn('bench/run.mjs', see('DECISIONS.md: a'))).toEqual([
      { file: 'bench/run.mjs', name: 'a', document: undefined },
    ]);
  });
});

describe('the check of a document', () => {
  it('accepts a complete one', () => {
    expect(faultsIn(SAMPLE)).toEqual([]);
    expect(decisionsIn(SAMPLE)[0]?.parts.get('Context')).toBe('Why it was needed,\n  on two lines.');
  });

  it.each([
    ['a missing part', SAMPLE.replace('- **Cost:** Time.\n', ''), 'two-takes has the parts'],
    ['parts in another order', SAMPLE.replace('Measurement', 'Note'), 'two-takes has the parts'],
    ['a part without text', SAMPLE.replace('Time.', ''), 'two-takes has no text for Cost'],
    ['a date that is not a date', SAMPLE.replace('2026-11-20\n', 'yesterday\n'), 'one has no date'],
    ['a name with capitals', SAMPLE.replaceAll('two-takes', 'Two takes'), '"Two takes" is not a name'],
    ['a name that is there twice', SAMPLE.replaceAll('two-takes', 'one'), 'one is there twice'],
    ['a decision that is not listed', SAMPLE.replace(', [two-takes](#two-takes)', ''), 'table of contents'],
  ])('reports %s', (_what, text, fault) => {
    expect(faultsIn(text).join('\n')).toContain(fault);
  });
});
