import { basename } from 'node:path';
import { ROOT, runSnippet, snippetsOf } from '../../../test/support/snippets';

// The tests of the guide, as a reader would run them. Jest gives `jest` to modules only, and a snippet is a function.
Object.assign(globalThis, { jest });

const GUIDES = ['docs/testing.md', 'libs/testing/README.md'];
const load = (name: string): unknown => jest.requireActual(name);

describe.each(GUIDES)('%s', (guide) => {
  const snippets = snippetsOf(guide);
  const tests = [...snippets.keys()].filter((path) => path.endsWith('.test.ts'));

  it('has tests', () => expect(tests.length).toBeGreaterThan(0));

  describe.each(tests.map((path) => basename(path)))('%s', (name) => {
    const path = tests.find((each) => basename(each) === name) as string;
    expect(path.startsWith(ROOT)).toBe(true);
    runSnippet(snippets, path, (code) => code, load);
  });
});
