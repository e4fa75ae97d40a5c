import { filesOf, shareOfLines, TESTS_OF } from '../typescript/rooms';

it.each(Object.keys(TESTS_OF))('mutants of TypeScript: most of the lines of %s are mutated', (lib) => {
  const files = filesOf(lib);
  expect(files.filter((path) => /\.(scripts|types)\.ts$/.test(path))).toEqual([]);
  expect(shareOfLines(lib, files)).toBeGreaterThan(60);
});
